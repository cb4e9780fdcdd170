import type { Transaction } from "../../platform/db/database.ts";
import { removeFactors } from "../second-factor/remove-factors.ts";
import { deletePasswordLinks, updatePassword } from "./password-store.ts";
import { deleteSessionsOfPerson } from "./session-store.ts";

/** Everything a person can sign in with ends. */
export function removeCredentials(tx: Transaction, person_id: string): void {
  updatePassword(tx, person_id, null);
  removeFactors(tx, person_id);
  deletePasswordLinks(tx, person_id);
  deleteSessionsOfPerson(tx, person_id);
}
