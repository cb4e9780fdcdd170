import { TOKEN_DIGITS } from "../catalogue/chains.ts";
import type { Session } from "../platform/db/database.ts";
import { LruMap } from "../platform/lru-map.ts";
import { type Decimal, powerOfTen, roundUp } from "../platform/money.ts";
import type { PriceVersions } from "../prices/price-book.ts";
import { findLastPriceVersionId } from "../prices/store.ts";

/** Tokens in cents of usd at a version of the rates, rounded up; the last version for null. */
export type ValueTokens = (version_id: string | null, token: string, tokens: bigint) => bigint;

/** What one token is worth in usd, by token. */
type UsdRates = ReadonlyMap<string, Decimal>;

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
    for (const [id, { rates }] of versions) {
      const in_usd = [...rates].flatMap(([token, by_currency]) => {
        const rate = by_currency.get("usd");
        return rate ? [[token, rate] as const] : [];
      });
      known.set(id, new Map(in_usd));
      usd_rates.set(id, new Map(in_usd));
    }
  }
  return (id, token, tokens) => usdOf(known.get(id ?? last_id ?? "")?.get(token), tokens);
}

/** A token without a rate counts as one dollar. */
function usdOf(rate: Decimal = { units: 1n, scale: 0 }, tokens: bigint): bigint {
  const numerator = tokens * rate.units * powerOfTen(USD_DIGITS);
  return roundUp(numerator, powerOfTen(TOKEN_DIGITS + rate.scale));
}
