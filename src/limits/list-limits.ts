import type { Session } from "../platform/db/database.ts";
import { minorToNumber } from "../platform/money.ts";
import { type LimitDeps, loadUsed, valueOpenQuotes } from "./load-limits.ts";
import { EVERY, type LimitRule, rulesFor, type Total } from "./model.ts";
import { listRules } from "./store.ts";

const USD_DIGITS = 2;

/** The limits of an account, or of one of its users, with what is used of them. */
export async function listLimits(
  session: Session,
  deps: LimitDeps,
  account_id: string,
  user_id: string | undefined,
) {
  const now = deps.now();
  const rules = rulesFor(await listRules(session, [account_id]), {
    account_id,
    user_id: user_id ?? EVERY,
  });
  return Promise.all(
    rules.map(async (rule) => {
      const { scope, time_window: window, amount_max, count_max } = rule;
      const used = await usedOf(rule);
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
    }),
  );

  async function usedOf(rule: LimitRule): Promise<Total | null> {
    const { scope } = rule;
    if (scope === "open_quotes") {
      return { usd: await valueOpenQuotes(session, deps, account_id, now), count: 0 };
    }
    const of = scope === "user" ? user_id : scope === "account" ? "" : undefined;
    if (of === undefined || (scope !== "user" && scope !== "account")) return null;
    return loadUsed(session, deps, rule, { account_id, scope, of }, now);
  }
}

function toUsd(cents: bigint | null): number | null {
  return cents === null ? null : minorToNumber(cents, USD_DIGITS);
}

function positive(cents: bigint): bigint {
  return cents > 0n ? cents : 0n;
}
