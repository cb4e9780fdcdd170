import type { Transaction } from "../../platform/db/database.ts";
import { deleteSessionsOfPerson } from "../store.ts";
import { deletePasswordLinks, updatePassword } from "./password-store.ts";

/** Everything a person can sign in with ends. */
export function removeCredentials(tx: Transaction, person_id: string): void {
  updatePassword(tx, person_id, null);
  deletePasswordLinks(tx, person_id);
  deleteSessionsOfPerson(tx, person_id);
}
