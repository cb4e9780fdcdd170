import { lockControls } from "../accounts/controls-store.ts";
import type { Session } from "../platform/db/database.ts";
import type { Problem } from "../platform/errors.ts";
import type { PriceVersions } from "../prices/price-book.ts";
import {
  EVERY,
  fits,
  type LimitRule,
  type LimitUse,
  openQuotesProblem,
  rulesFor,
  type Spend,
  type SumShare,
  sharesOf,
  singleProblem,
  sumProblem,
  type Total,
  totalOf,
  type UseKey,
  WINDOW_MS,
} from "./model.ts";
import {
  findOpenQuoteSums,
  findUseSums,
  listOldestUses,
  listRules,
  listUseHours,
  type TokenSum,
  USES_PER_PAGE,
} from "./store.ts";
import {
  createUsdRateCache,
  loadTokenValues,
  type UsdRateCache,
  type ValueTokens,
} from "./usd-rates.ts";

export type LimitDeps = { prices: PriceVersions; usd_rates: UsdRateCache; now: () => Date };

export function openLimitDeps(prices: PriceVersions, now: () => Date): LimitDeps {
  return { prices, usd_rates: createUsdRateCache(), now };
}

/**
 * The limits of accounts and what counts against them, read under the accounts' locks: first
 * `lock`, before any other lock, then `load`.
 */
export type Limits = {
  /** Whether any limit applies to these accounts; else nothing more needs to be read. */
  is_on: boolean;
  value: ValueTokens;
  /** Only for what was named when the limits were loaded. */
  problems: (spend: Spend, field: string) => Problem[];
  /** Problems with the sum of the account's open quotes. */
  openQuoteProblems: (account_id: string, field: string) => Problem[];
  /** Counts what was accepted for the commands that follow. */
  take: (spend: Spend) => void;
};

const OFF: Limits = {
  is_on: false,
  value: () => 0n,
  problems: () => [],
  openQuoteProblems: () => [],
  take: () => {},
};

/** Locks the accounts that have limits; sent first, it costs no round trip of its own. */
export async function lockLimits(
  tx: Session,
  owned: readonly { account_id: string }[],
): Promise<string[]> {
  const rows = await lockControls(tx, owned, false);
  return rows.map((row) => row.account_id);
}

/** What will be checked: the sums that it adds to are read. */
type Wanted = {
  spends: (value: ValueTokens) => Spend[] | Promise<Spend[]>;
  /** The versions of the rates that these are valued at. */
  version_ids?: readonly string[];
};

const NOTHING: Wanted = { spends: () => [] };

export async function loadLimits(
  tx: Session,
  deps: LimitDeps,
  locked_ids: readonly string[],
  { spends, version_ids = [] }: Wanted = NOTHING,
): Promise<Limits> {
  if (locked_ids.length === 0) return OFF;
  const rules = await listRules(tx, locked_ids);
  if (rules.length === 0) return OFF;
  const now = deps.now();
  const value = await loadTokenValues(tx, deps, version_ids);
  const checked = (await spends(value)).flatMap((spend) => limitedShares(rules, spend));
  const has_open = rules.some(({ scope }) => scope === "open_quotes");
  const [sums, open] = await Promise.all([
    loadSums(tx, deps, checked, now),
    Promise.all(
      locked_ids.map((id) => (has_open ? valueOpenQuotes(tx, deps, id, now) : Promise.resolve(0n))),
    ),
  ]);
  const oldest = await loadOldest(tx, deps, checked, sums, now);
  const open_usd = new Map(locked_ids.map((id, at) => [id, open[at]!]));
  return openLimits(rules, { sums, oldest, open_usd }, value);
}

/** A rule of a time window, and what a request adds to the sum that it limits. */
type Limited = { rule: LimitRule; share: SumShare };

function limitedShares(rules: readonly LimitRule[], spend: Spend): Limited[] {
  return rulesFor(rules, spend).flatMap((rule) =>
    sharesOf(rule.scope, spend).map((share) => ({ rule, share })),
  );
}

type State = {
  /** By `sumName`. */
  sums: Map<string, Total>;
  /** The oldest uses of sums that are at their limit, by `sumName`. */
  oldest: ReadonlyMap<string, readonly LimitUse[]>;
  open_usd: ReadonlyMap<string, bigint>;
};

function openLimits(
  rules: readonly LimitRule[],
  { sums, oldest, open_usd }: State,
  value: ValueTokens,
): Limits {
  const usedOf = ({ rule, share }: Limited) => {
    const used = sums.get(sumName(rule, share));
    if (!used) throw new Error("a request that was not named cannot be checked");
    return used;
  };
  return {
    is_on: true,
    value,
    problems: (spend, field) => {
      const single = rulesFor(rules, spend)
        .filter(({ scope }) => scope === "payout" && (spend.scopes?.includes(scope) ?? true))
        .map((rule) => singleProblem(rule, spend));
      const summed = limitedShares(rules, spend).map((limited) => {
        const { rule, share } = limited;
        return sumProblem(rule, usedOf(limited), share, oldest.get(sumName(rule, share)) ?? []);
      });
      return [...single, ...summed]
        .filter((message) => message !== null)
        .map((message) => ({ field, code: "limit_exceeded", message }));
    },
    openQuoteProblems: (account_id, field) => {
      const own = rulesFor(rules, { account_id, user_id: EVERY });
      const message = openQuotesProblem(own, open_usd.get(account_id) ?? 0n);
      return message === null ? [] : [{ field, code: "limit_exceeded", message }];
    },
    take: (spend) => {
      for (const limited of limitedShares(rules, spend)) {
        const { rule, share } = limited;
        sums.set(sumName(rule, share), totalOf([usedOf(limited), share.wanted]));
      }
    },
  };
}

/** Rules of different users may limit the same sum. */
function sumName({ time_window }: LimitRule, { account_id, scope, of }: UseKey): string {
  return `${account_id} ${scope} ${time_window} ${of}`;
}

function byName(checked: readonly Limited[]): Map<string, Limited[]> {
  return Map.groupBy(checked, ({ rule, share }) => sumName(rule, share));
}

async function loadSums(
  tx: Session,
  deps: LimitDeps,
  checked: readonly Limited[],
  now: Date,
): Promise<Map<string, Total>> {
  const read = [...byName(checked)].map(async ([name, [first]]) => {
    const { rule, share } = first!;
    const used = await findUseSums(tx, share, sinceOf(rule, now));
    return used.map((sum) => ({ ...sum, name }));
  });
  const used = await valueAll(tx, deps, (await Promise.all(read)).flat());
  const by_name = Map.groupBy(used, ({ name }) => name);
  return new Map(
    [...byName(checked).keys()].map((name) => [name, totalOf(by_name.get(name) ?? [])]),
  );
}

/** What is used of a rule of a time window. */
export async function loadUsed(
  session: Session,
  deps: LimitDeps,
  rule: LimitRule,
  key: UseKey,
  now: Date,
): Promise<Total> {
  const used = await findUseSums(session, key, sinceOf(rule, now));
  return totalOf(await valueAll(session, deps, used));
}

export async function valueOpenQuotes(
  session: Session,
  deps: LimitDeps,
  account_id: string,
  now: Date,
): Promise<bigint> {
  const open = await findOpenQuoteSums(session, account_id, now);
  return totalOf(await valueAll(session, deps, open)).usd;
}

/**
 * Where the requests do not all fit: the uses that leave the window first, so many that everything
 * would fit. They show when a refused request can be sent again.
 */
async function loadOldest(
  tx: Session,
  deps: LimitDeps,
  checked: readonly Limited[],
  sums: ReadonlyMap<string, Total>,
  now: Date,
): Promise<Map<string, LimitUse[]>> {
  const oldest = new Map<string, LimitUse[]>();
  for (const [name, limited] of byName(checked)) {
    const { rule, share } = limited[0]!;
    const total = totalOf([sums.get(name)!, ...limited.map(({ share: { wanted } }) => wanted)]);
    if (fits(rule, total)) continue;
    const uses = await valueAll(tx, deps, await listOldestUses(tx, share, sinceOf(rule, now)));
    const gone = totalOf(uses);
    const left = { usd: total.usd - gone.usd, count: total.count - gone.count };
    // Far above the limit the hour is enough.
    const hours =
      fits(rule, left) || uses.length < USES_PER_PAGE
        ? []
        : await valueAll(tx, deps, await listUseHours(tx, share, uses.at(-1)!.at));
    oldest.set(name, [...uses, ...hours]);
  }
  return oldest;
}

function sinceOf({ time_window }: LimitRule, now: Date): Date {
  return new Date(now.getTime() - (time_window === "single" ? 0 : WINDOW_MS[time_window]));
}

async function valueAll<Use extends TokenSum>(
  session: Session,
  deps: LimitDeps,
  uses: readonly Use[],
): Promise<(Use & Total)[]> {
  const version_ids = uses.map(({ price_version_id }) => price_version_id);
  const value = await loadTokenValues(session, deps, version_ids);
  return uses.map((use) => ({ ...use, usd: value(use) }));
}
