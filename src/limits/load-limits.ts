import { lockControls } from "../accounts/controls-store.ts";
import { TOKEN_DIGITS } from "../catalogue/chains.ts";
import type { Session } from "../platform/db/database.ts";
import type { Problem } from "../platform/errors.ts";
import { powerOfTen, roundUp } from "../platform/money.ts";
import type { Prices, PriceVersions } from "../prices/prices.ts";
import { findLastPriceVersionId } from "../prices/store.ts";
import {
  countedUses,
  EVERY,
  type LimitRule,
  type LimitUse,
  limitProblems,
  rulesFor,
  type Spend,
  usdText,
  WINDOW_MS,
} from "./model.ts";
import { listOpenQuotes, listRules, listUses, type TokenUse } from "./store.ts";

const USD_DIGITS = 2;

export type LimitDeps = { prices: PriceVersions; now: () => Date };

/** Tokens in cents of usd at a version of the rates, rounded up; the last version for null. */
type ValueTokens = (version_id: string | null, token: string, tokens: bigint) => bigint;

/**
 * The limits of accounts and what counts against them, read under the accounts' locks: first
 * `lock`, before any other lock, then `load`.
 */
export type Limits = {
  /** Whether any limit applies to these accounts; else nothing more needs to be read. */
  is_on: boolean;
  value: ValueTokens;
  problems: (spend: Spend, field: string) => Problem[];
  /** Problems with the sum of the account's open quotes. */
  openQuoteProblems: (account_id: string, field: string) => Problem[];
  /** In cents. */
  openQuotes: (account_id: string) => bigint;
  /** What counts for a rule now. */
  counted: (rule: LimitRule, of: Parameters<typeof countedUses>[2]) => LimitUse[];
  /** Counts what was accepted for the commands that follow. */
  take: (spend: Spend) => void;
};

const OFF: Limits = {
  is_on: false,
  value: () => 0n,
  problems: () => [],
  openQuoteProblems: () => [],
  openQuotes: () => 0n,
  counted: () => [],
  take: () => {},
};

/** Locks the accounts that have limits; sent first, it costs no round trip of its own. */
export async function lockLimits(tx: Session, account_ids: readonly string[]): Promise<string[]> {
  const rows = await lockControls(tx, account_ids, false);
  return rows.map((row) => row.account_id);
}

export async function loadLimits(
  tx: Session,
  { prices, now }: LimitDeps,
  locked_ids: readonly string[],
  version_ids: readonly string[] = [],
): Promise<Limits> {
  if (locked_ids.length === 0) return OFF;
  const rules = await listRules(tx, locked_ids);
  if (rules.length === 0) return OFF;
  const at = now();
  const is_long = rules.some(({ time_window }) => time_window === "30_days");
  const since = new Date(at.getTime() - WINDOW_MS[is_long ? "30_days" : "day"]);
  const has_open = rules.some(({ scope }) => scope === "open_quotes");
  const [used, open, last_id] = await Promise.all([
    Promise.all(locked_ids.map((id) => listUses(tx, id, since))),
    has_open ? Promise.all(locked_ids.map((id) => listOpenQuotes(tx, id, at))) : [],
    findLastPriceVersionId(tx),
  ]);
  const uses = used.flat();
  const ids = [
    ...version_ids,
    ...uses.map((use) => use.price_version_id),
    ...open.flat().map((quote) => quote.price_version_id),
    last_id,
  ].filter((id) => id !== null && id !== undefined);
  const versions = await prices.find(tx, [...new Set(ids)]);
  const value: ValueTokens = (id, token, tokens) =>
    usdOf(versions.get(id ?? last_id ?? ""), token, tokens);
  const open_usd = new Map(
    locked_ids.map((id, index) => [
      id,
      (open[index] ?? []).reduce(
        (sum, quote) => sum + value(quote.price_version_id, quote.token, quote.tokens),
        0n,
      ),
    ]),
  );
  return openLimits(rules, uses.map(toUse(value)), open_usd, value, at);
}

function openLimits(
  rules: readonly LimitRule[],
  uses: LimitUse[],
  open_usd: ReadonlyMap<string, bigint>,
  value: ValueTokens,
  now: Date,
): Limits {
  const openQuotes = (account_id: string) => open_usd.get(account_id) ?? 0n;
  return {
    is_on: true,
    openQuotes,
    counted: (rule, of) => countedUses(rule, uses, of, now),
    value,
    problems: (spend, field) => limitProblems(rules, uses, spend, { field, now }),
    openQuoteProblems: (account_id, field) => {
      const own = rulesFor(rules, { account_id, user_id: EVERY });
      const max = own.find(({ scope }) => scope === "open_quotes")?.amount_max ?? null;
      const sum = openQuotes(account_id);
      if (max === null || sum <= max) return [];
      const message =
        `The account's open quotes are worth ${usdText(sum)}, the limit is ${usdText(max)}: ` +
        "pay for open quotes, or wait until they expire.";
      return [{ field, code: "limit_exceeded", message }];
    },
    take: ({ account_id, user_id, parts }) => {
      uses.push(...parts.map((part) => ({ ...part, account_id, user_id, at: now })));
    },
  };
}

function toUse(value: ValueTokens) {
  return ({ price_version_id, token, tokens, payee, ...use }: TokenUse): LimitUse => ({
    ...use,
    payee: payee?.toString("hex") ?? null,
    usd: value(price_version_id, token, tokens),
  });
}

/** A token without a rate counts as one dollar. */
function usdOf(prices: Prices | undefined, token: string, tokens: bigint): bigint {
  const rate = prices?.rates.get(token)?.get("usd") ?? { units: 1n, scale: 0 };
  const numerator = tokens * rate.units * powerOfTen(USD_DIGITS);
  return roundUp(numerator, powerOfTen(TOKEN_DIGITS + rate.scale));
}
