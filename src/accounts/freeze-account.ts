import type { Transaction } from "../platform/db/database.ts";
import { recordAudit } from "./audit.ts";
import type { Actor } from "./model.ts";
import { updateAccountFrozen } from "./store.ts";

/** While an account is frozen nothing of its users leaves; deposits are still credited. */
export function freezeAccount(
  tx: Transaction,
  account_id: string,
  is_frozen: boolean,
  by: { actor: Actor; reason: string },
  now: Date,
): void {
  updateAccountFrozen(tx, account_id, is_frozen ? now : null);
  const action = is_frozen ? "account.freeze" : "account.unfreeze";
  recordAudit(tx, { account_id, ...by, action, record: `account:${account_id}` }, now);
}
