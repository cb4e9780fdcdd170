import { TOKEN_DIGITS } from "../catalogue/chains.ts";
import type { Session } from "../platform/db/database.ts";
import { LruMap } from "../platform/lru-map.ts";
import { type Decimal, powerOfTen, roundUp } from "../platform/money.ts";
import type { Prices, PriceVersions } from "../prices/price-book.ts";
import { findLastPriceVersionId } from "../prices/store.ts";

/** Millionths of a token. */
export type Tokens = {
  /** The version of the rates; null: the last one. */
  price_version_id: string | null;
  token: string;
  tokens: bigint;
  /** They are not sent but pay for payouts: these are worth less by our spread. */
  is_paid_out: boolean;
};

/** In cents of usd, rounded up. */
export type ValueTokens = (tokens: Tokens) => bigint;

/** What one token is worth in usd, and how much usd is paid out for it, by token. */
type UsdRates = { source: RateOfToken; payout: RateOfToken };
type RateOfToken = ReadonlyMap<string, Decimal>;

/** Keeps the few rates that limits need of each version: a month has tens of thousands. */
export type UsdRateCache = LruMap<string, UsdRates>;

const USD_DIGITS = 2;
const VERSIONS_MAX = 100_000;
const VERSIONS_PER_READ = 200;

export function createUsdRateCache(): UsdRateCache {
  return new LruMap(VERSIONS_MAX);
}

/** Values tokens at these versions of the rates and at the last one. */
export async function loadTokenValues(
  session: Session,
  { prices, usd_rates }: { prices: PriceVersions; usd_rates: UsdRateCache },
  version_ids: readonly (string | null)[],
): Promise<ValueTokens> {
  const last_id = await findLastPriceVersionId(session);
  const ids = [...new Set([...version_ids, last_id ?? null].filter((id) => id !== null))];
  const known = new Map<string, UsdRates>();
  const missing: string[] = [];
  for (const id of ids) {
    const rates = usd_rates.get(id);
    if (rates) known.set(id, rates);
    else missing.push(id);
  }
  for (let at = 0; at < missing.length; at += VERSIONS_PER_READ) {
    const versions = await prices.find(session, missing.slice(at, at + VERSIONS_PER_READ));
    for (const [id, { rates, source_rates }] of versions) {
      const in_usd = { source: usdRates(source_rates), payout: usdRates(rates) };
      known.set(id, in_usd);
      usd_rates.set(id, in_usd);
    }
  }
  return ({ price_version_id, token, tokens, is_paid_out }) => {
    const rates = known.get(price_version_id ?? last_id ?? "");
    return usdOf(rates?.[is_paid_out ? "payout" : "source"].get(token), tokens);
  };
}

function usdRates(rates: Prices["rates"]): RateOfToken {
  const in_usd = [...rates].flatMap(([token, by_currency]) => {
    const rate = by_currency.get("usd");
    return rate ? [[token, rate] as const] : [];
  });
  return new Map(in_usd);
}

/** A token without a rate counts as one dollar. */
function usdOf(rate: Decimal = { units: 1n, scale: 0 }, tokens: bigint): bigint {
  const numerator = tokens * rate.units * powerOfTen(USD_DIGITS);
  return roundUp(numerator, powerOfTen(TOKEN_DIGITS + rate.scale));
}
