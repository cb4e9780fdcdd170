import type { Session } from "../platform/db/database.ts";
import { minorToNumber } from "../platform/money.ts";
import { type LimitDeps, loadLimits } from "./load-limits.ts";
import { EVERY, type LimitRule, rulesFor, totalOf } from "./model.ts";
import { listRules } from "./store.ts";

const USD_DIGITS = 2;

/** The limits of an account, or of one of its users, with what is used of them. */
export async function listLimits(
  session: Session,
  deps: LimitDeps,
  account_id: string,
  user_id: string | undefined,
) {
  const rules = rulesFor(await listRules(session, [account_id]), {
    account_id,
    user_id: user_id ?? EVERY,
  });
  const limits = await loadLimits(session, deps, [account_id]);
  return rules.map((rule) => {
    const { scope, time_window: window, amount_max, count_max } = rule;
    const used = usedOf(rule);
    return {
      scope,
      window,
      amount_max: toUsd(amount_max),
      count_max,
      used: toUsd(used?.usd ?? null),
      left: toUsd(used && amount_max !== null ? positive(amount_max - used.usd) : null),
      used_count: used?.count ?? null,
      left_count: used && count_max !== null ? Math.max(count_max - used.count, 0) : null,
    };
  });

  function usedOf(rule: LimitRule) {
    if (rule.scope === "open_quotes") return { usd: limits.openQuotes(account_id), count: 0 };
    const is_known = rule.scope === "account" || (rule.scope === "user" && user_id !== undefined);
    return is_known
      ? totalOf(limits.counted(rule, { account_id, user_id: user_id ?? EVERY, payee: null }))
      : null;
  }
}

function toUsd(cents: bigint | null): number | null {
  return cents === null ? null : minorToNumber(cents, USD_DIGITS);
}

function positive(cents: bigint): bigint {
  return cents > 0n ? cents : 0n;
}
