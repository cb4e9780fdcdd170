import type { Transaction } from "../../platform/db/database.ts";
import { deletePasskeys } from "../passkeys/store.ts";
import { deleteRecoveryCodes, deleteTotp } from "./store.ts";

/** Recovery codes go with the factors that they stand in for. */
export function removeFactors(tx: Transaction, person_id: string): void {
  deleteTotp(tx, person_id);
  deletePasskeys(tx, person_id);
  deleteRecoveryCodes(tx, person_id);
}
