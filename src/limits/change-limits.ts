import { findOperator } from "../accounts/store.ts";
import type { ControlledChange } from "../approvals/controlled-change.ts";
import { EVERY, isTighter, type LimitRule, rulesFor, usdText } from "./model.ts";
import { setLimit } from "./set-limit.ts";
import { findRule, listRules } from "./store.ts";

/** How much may leave: of one user, of one account, or of every account. */
export const limitChange: ControlledChange<LimitRule> = {
  kind: "set-limits",
  summaryOf: ({ scope, time_window }) =>
    `Change the limit ${scope}, ${time_window.replaceAll("_", " ")}.`,
  describe: async (session, _account_id, rule) => {
    const { account_id, user_id, scope, time_window } = rule;
    const before = await findRule(session, rule);
    return {
      details: [
        ["Applies to", describeOwner({ account_id, user_id })],
        ["Limit", `${scope}, ${time_window.replaceAll("_", " ")}`],
        ["Old limit", describeLimit(before ?? { amount_max: null, count_max: null })],
        ["New limit", describeLimit(rule)],
      ],
      state: [],
    };
  },
  isTighter: async (session, rule) => {
    const { account_id, scope, time_window } = rule;
    const applying = rulesFor(await listRules(session, [account_id]), rule);
    const before = applying.find((one) => one.scope === scope && one.time_window === time_window);
    return isTighter(rule, before);
  },
  apply: async (tx, _account_id, rule, by, now) => {
    const { id: operator_id } = (await findOperator(tx))!;
    setLimit(tx, rule, { ...by, operator_id }, now);
  },
};

function describeOwner({ account_id, user_id }: Pick<LimitRule, "account_id" | "user_id">) {
  if (user_id !== EVERY) return `User ${user_id}`;
  return account_id === EVERY ? "All accounts" : `Account ${account_id}`;
}

function describeLimit({ amount_max, count_max }: Pick<LimitRule, "amount_max" | "count_max">) {
  const parts = [
    ...(amount_max === null ? [] : [usdText(amount_max)]),
    ...(count_max === null ? [] : [`${count_max} payments`]),
  ];
  return parts.join(", ") || "None";
}
