import { DAY_MS } from "../platform/durations.ts";
import type { Problem } from "../platform/errors.ts";
import { FIRST_ID } from "../platform/ids.ts";
import { minorToText } from "../platform/money.ts";

export const LIMIT_SCOPES = ["payout", "user", "payee", "account", "open_quotes"] as const;
export type LimitScope = (typeof LIMIT_SCOPES)[number];
export const LIMIT_WINDOWS = ["single", "day", "30_days"] as const;
export type LimitWindow = (typeof LIMIT_WINDOWS)[number];

export const WINDOW_MS = { day: DAY_MS, "30_days": 30 * DAY_MS } as const;

/** All accounts, or all users. */
export const EVERY = FIRST_ID;

/** The windows that each scope has. */
export const WINDOWS_OF: Readonly<Record<LimitScope, readonly LimitWindow[]>> = {
  payout: ["single"],
  user: ["day", "30_days"],
  payee: ["day", "30_days"],
  account: ["day", "30_days"],
  open_quotes: ["single"],
};

export type LimitRule = {
  account_id: string;
  user_id: string;
  scope: LimitScope;
  time_window: LimitWindow;
  /** Cents; null: the amount is not limited. */
  amount_max: bigint | null;
  /** Null: the number is not limited. */
  count_max: number | null;
};

/** A movement of money that counts, in cents. `payee`: the bank account, as hex. */
export type LimitUse = {
  account_id: string;
  user_id: string;
  payee: string | null;
  at: Date;
  usd: bigint;
  count: number;
};

/** What a request would move. A re-route counts for the payee only. */
export type Spend = {
  account_id: string;
  user_id: string;
  /** The largest single payment. */
  largest: bigint;
  parts: readonly Pick<LimitUse, "payee" | "usd" | "count">[];
  scopes?: readonly LimitScope[];
};

/** The rules that apply to a user: of the user, else of the account, else of the installation. */
export function rulesFor(
  rules: readonly LimitRule[],
  { account_id, user_id }: { account_id: string; user_id: string },
): LimitRule[] {
  const applying = rules.filter(
    (rule) =>
      [account_id, EVERY].includes(rule.account_id) && [user_id, EVERY].includes(rule.user_id),
  );
  const rank = (rule: LimitRule) =>
    (rule.user_id === EVERY ? 0 : 2) + (rule.account_id === EVERY ? 0 : 1);
  const best = new Map<string, LimitRule>();
  for (const rule of applying) {
    const name = `${rule.scope} ${rule.time_window}`;
    const known = best.get(name);
    if (!known || rank(rule) > rank(known)) best.set(name, rule);
  }
  return [...best.values()];
}

type Total = { usd: bigint; count: number };

export function totalOf(parts: readonly Pick<LimitUse, "usd" | "count">[]): Total {
  return parts.reduce<Total>(
    (sum, { usd, count }) => ({ usd: sum.usd + usd, count: sum.count + count }),
    { usd: 0n, count: 0 },
  );
}

/** The uses that count for a rule at this time, oldest first. */
export function countedUses(
  { scope, time_window }: LimitRule,
  uses: readonly LimitUse[],
  of: { account_id: string; user_id: string; payee: string | null },
  now: Date,
): LimitUse[] {
  if (time_window === "single") return [];
  const since = now.getTime() - WINDOW_MS[time_window];
  return uses.filter(
    (use) =>
      use.account_id === of.account_id &&
      use.at.getTime() > since &&
      (scope === "account" ||
        (scope === "user" && use.user_id === of.user_id) ||
        (scope === "payee" && use.payee !== null && use.payee === of.payee)),
  );
}

/** The problems of a request with the limits; `uses` are oldest first. */
export function limitProblems(
  rules: readonly LimitRule[],
  uses: readonly LimitUse[],
  spend: Spend,
  { field, now }: { field: string; now: Date },
): Problem[] {
  const { scopes = LIMIT_SCOPES } = spend;
  return rulesFor(rules, spend)
    .filter(({ scope }) => scopes.includes(scope))
    .flatMap((rule) => {
      const message = exceeded(rule, uses, spend, now);
      return message === null ? [] : [{ field, code: "limit_exceeded" as const, message }];
    });
}

function exceeded(
  rule: LimitRule,
  uses: readonly LimitUse[],
  spend: Spend,
  now: Date,
): string | null {
  const { scope, amount_max, count_max } = rule;
  if (scope === "payout") {
    if (amount_max === null || spend.largest <= amount_max) return null;
    return `A single payment may be at most ${usdText(amount_max)}.`;
  }
  if (scope === "open_quotes") return null;
  const groups =
    scope === "payee"
      ? [...Map.groupBy(spend.parts, (part) => part.payee)]
      : [[null, spend.parts] as const];
  for (const [payee, parts] of groups) {
    if (scope === "payee" && payee === null) continue;
    const counted = countedUses(rule, uses, { ...spend, payee }, now);
    const [used, wanted] = [totalOf(counted), totalOf(parts)];
    if (amount_max !== null && used.usd + wanted.usd > amount_max) {
      const left = amount_max > used.usd ? amount_max - used.usd : 0n;
      const frees = freesAt(rule, counted, wanted, used);
      return `${nameOf(rule)} is ${usdText(amount_max)}: ${usdText(left)} are left. ${frees}`;
    }
    if (count_max !== null && used.count + wanted.count > count_max) {
      const left = Math.max(count_max - used.count, 0);
      const frees = freesAt(rule, counted, wanted, used);
      return `${nameOf(rule)} is ${count_max} payments: ${left} are left. ${frees}`;
    }
  }
  return null;
}

/** When the earlier payments have left the window so far that this request fits. */
function freesAt(
  { time_window, amount_max, count_max }: LimitRule,
  counted: readonly LimitUse[],
  wanted: Total,
  used: Total,
): string {
  const fits = (total: Total) =>
    (amount_max === null || total.usd + wanted.usd <= amount_max) &&
    (count_max === null || total.count + wanted.count <= count_max);
  let left = used;
  for (const { usd, count, at } of counted) {
    left = { usd: left.usd - usd, count: left.count - count };
    if (!fits(left) || time_window === "single") continue;
    const time = new Date(at.getTime() + WINDOW_MS[time_window]);
    return `This request fits from ${time.toISOString()}.`;
  }
  return "This request alone is above the limit.";
}

const NAMES: Readonly<Record<LimitScope, string>> = {
  payout: "a single payment",
  user: "the user",
  payee: "the payee's bank account",
  account: "the account",
  open_quotes: "the account's open quotes",
};
const WINDOW_NAMES: Readonly<Record<LimitWindow, string>> = {
  single: "",
  day: " in 24 hours",
  "30_days": " in 30 days",
};

function nameOf({ scope, time_window }: LimitRule): string {
  return `The limit of ${NAMES[scope]}${WINDOW_NAMES[time_window]}`;
}

export function usdText(cents: bigint): string {
  return `${minorToText(cents, 2)} usd`;
}
