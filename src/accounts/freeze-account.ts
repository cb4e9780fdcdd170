import type { Transaction } from "../platform/db/database.ts";
import type { Actor } from "./model.ts";
import { recordOperatorAct } from "./operator-acts.ts";
import { updateAccountFrozen } from "./store.ts";

/** While an account is frozen nothing of its users leaves; deposits are still credited. */
export function freezeAccount(
  tx: Transaction,
  account_id: string,
  is_frozen: boolean,
  by: { operator_id: string; actor: Actor; reason: string },
  now: Date,
): void {
  updateAccountFrozen(tx, account_id, is_frozen ? now : null);
  const action = is_frozen ? "account.freeze" : "account.unfreeze";
  const { operator_id, ...act } = by;
  const entry = { account_id, ...act, action, record: `account:${account_id}` } as const;
  recordOperatorAct(tx, operator_id, entry, now);
}
