import { DAY_MS } from "../platform/durations.ts";
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

/** So many payments, in cents. */
export type Total = { usd: bigint; count: number };

/** Payments at one time. */
export type LimitUse = Total & { at: Date };

/** Whose uses are summed: of an account, of one of its users, or those to one bank account. */
export type UseKey = {
  account_id: string;
  scope: "account" | "user" | "payee";
  /** The user's id, or the bank account as hex; empty for an account. */
  of: string;
};

/** What a request would move. A re-route counts for the payee only. */
export type Spend = {
  account_id: string;
  user_id: string;
  /** The largest single payment. */
  largest: bigint;
  /** What goes to each bank account, as hex; null: to none. */
  parts: readonly (Total & { payee: string | null })[];
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

export function totalOf(parts: readonly Total[]): Total {
  return parts.reduce<Total>(
    (sum, { usd, count }) => ({ usd: sum.usd + usd, count: sum.count + count }),
    { usd: 0n, count: 0 },
  );
}

/** What a request adds to a sum that rules limit. */
export type SumShare = UseKey & { wanted: Total };

/** The sums that a request adds to in this scope: none where it names no bank account. */
export function sharesOf(scope: LimitScope, spend: Spend): SumShare[] {
  const { account_id, user_id, parts, scopes = LIMIT_SCOPES } = spend;
  if (!scopes.includes(scope)) return [];
  if (scope === "account") return [{ account_id, scope, of: "", wanted: totalOf(parts) }];
  if (scope === "user") return [{ account_id, scope, of: user_id, wanted: totalOf(parts) }];
  if (scope !== "payee") return [];
  return [...Map.groupBy(parts, ({ payee }) => payee)].flatMap(([payee, own]) =>
    payee === null ? [] : [{ account_id, scope, of: payee, wanted: totalOf(own) }],
  );
}

/** Whether a rule allows so much. */
export function fits({ amount_max, count_max }: LimitRule, { usd, count }: Total): boolean {
  return (amount_max === null || usd <= amount_max) && (count_max === null || count <= count_max);
}

/** Whether a rule allows nothing that the one before it did not. */
export function isTighter(rule: LimitRule, before: LimitRule | undefined): boolean {
  const { amount_max, count_max } = rule;
  if (amount_max === null && count_max === null) return false;
  const isWithin = <Max extends bigint | number>(max: Max | null, limit: Max | null | undefined) =>
    limit === null || limit === undefined || (max !== null && max <= limit);
  return isWithin(amount_max, before?.amount_max) && isWithin(count_max, before?.count_max);
}

export function singleProblem({ amount_max }: LimitRule, { largest }: Spend): string | null {
  if (amount_max === null || largest <= amount_max) return null;
  return `A single payment may be at most ${usdText(amount_max)}.`;
}

/** Why a share does not fit any more; null if it does. `oldest`: the uses that leave first. */
export function sumProblem(
  rule: LimitRule,
  used: Total,
  { wanted }: SumShare,
  oldest: readonly LimitUse[],
): string | null {
  if (fits(rule, totalOf([used, wanted]))) return null;
  const { amount_max, count_max } = rule;
  const frees = freesAt(rule, oldest, wanted, used);
  if (amount_max !== null && used.usd + wanted.usd > amount_max) {
    const left = amount_max > used.usd ? amount_max - used.usd : 0n;
    return `${nameOf(rule)} is ${usdText(amount_max)}: ${usdText(left)} are left. ${frees}`;
  }
  const left = Math.max(count_max! - used.count, 0);
  return `${nameOf(rule)} is ${count_max} payments: ${left} are left. ${frees}`;
}

/** When the earlier payments have left the window so far that this request fits. */
function freesAt(rule: LimitRule, oldest: readonly LimitUse[], wanted: Total, used: Total): string {
  if (!fits(rule, wanted) || rule.time_window === "single") {
    return "This request alone is above the limit.";
  }
  let left = totalOf([used, wanted]);
  for (const { usd, count, at } of oldest) {
    left = { usd: left.usd - usd, count: left.count - count };
    if (!fits(rule, left)) continue;
    const time = new Date(at.getTime() + WINDOW_MS[rule.time_window]);
    return `This request fits from ${time.toISOString()}.`;
  }
  return "This request fits when earlier payments have left the window.";
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

/** Why no quote can be executed: what the account's open quotes are worth together. */
export function openQuotesProblem(rules: readonly LimitRule[], sum_usd: bigint): string | null {
  const max = rules.find(({ scope }) => scope === "open_quotes")?.amount_max ?? null;
  if (max === null || sum_usd <= max) return null;
  return (
    `The account's open quotes are worth ${usdText(sum_usd)}, the limit is ${usdText(max)}: ` +
    "pay for open quotes, or wait until they expire."
  );
}

export function usdText(cents: bigint): string {
  return `${minorToText(cents, 2)} usd`;
}
