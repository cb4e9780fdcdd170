import type { Transaction } from "../../platform/db/database.ts";
import { deleteRecoveryCodes, deleteTotp } from "./store.ts";

/** Recovery codes go with the factor that they stand in for. */
export function removeFactors(tx: Transaction, person_id: string): void {
  deleteTotp(tx, person_id);
  deleteRecoveryCodes(tx, person_id);
}
