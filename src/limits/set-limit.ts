import { recordAudit } from "../accounts/audit.ts";
import type { Actor } from "../accounts/model.ts";
import type { Transaction } from "../platform/db/database.ts";
import { EVERY, type LimitRule } from "./model.ts";
import { deleteRule, upsertRule } from "./store.ts";

type By = {
  /** The account whose audit log keeps it when it applies to all accounts. */
  operator_id: string;
  actor: Actor;
  reason: string;
};

/** Sets a limit, or removes it where neither an amount nor a number is given. */
export function setLimit(tx: Transaction, rule: LimitRule, by: By, now: Date): void {
  const { account_id, user_id, scope, time_window, amount_max, count_max } = rule;
  const is_removed = amount_max === null && count_max === null;
  if (is_removed) deleteRule(tx, rule);
  else upsertRule(tx, rule, now);
  const { operator_id, actor, reason } = by;
  recordAudit(
    tx,
    {
      account_id: account_id === EVERY ? operator_id : account_id,
      actor,
      action: is_removed ? "limit.remove" : "limit.set",
      record: `account:${account_id}`,
      reason,
      detail: {
        user_id,
        scope,
        window: time_window,
        amount_max: amount_max === null ? null : String(amount_max),
        count_max: count_max === null ? null : String(count_max),
      },
    },
    now,
  );
}
