import { createHash } from "node:crypto";
import { TOKENS } from "../catalogue/chains.ts";
import { type FeeSchedule, toFeeTable } from "../catalogue/fee-table.ts";
import type { MarketRisk } from "../catalogue/market-risk.ts";
import type { RateReading, RateSource } from "../partners/rates/port.ts";
import { RATE_DIGITS_MAX } from "../partners/rates/rate-text.ts";
import type { Database, Transaction } from "../platform/db/database.ts";
import { DAY_MS } from "../platform/durations.ts";
import { canonicalJson } from "../platform/http/json-body.ts";
import { newId, timeOfId } from "../platform/ids.ts";
import {
  type Decimal,
  divideDecimals,
  formatDecimal,
  parseDecimal,
  roundDown,
} from "../platform/money.ts";
import { checkRates, type RateCheck, type RateTable } from "./rate-checks.ts";
import {
  findLastPriceVersion,
  insertPriceVersion,
  listRateChecks,
  lockPriceVersions,
  type PriceVersion,
  updateRateChecks,
} from "./store.ts";

type RefreshDeps = {
  database: Database;
  source: RateSource;
  /** Usd for one token; null if each token counts as one usd. */
  token_source: RateSource | null;
  fees: FeeSchedule;
  risk: MarketRisk;
  /** The currencies to keep; a source may have many more. */
  currencies: ReadonlySet<string>;
};

/** The source returned no usable rates; the last ones are used until they are too old. */
export class RatesUnreadableError extends Error {}

/** Clocks may differ a little; but rates dated next week would never become too old. */
const FUTURE_MAX_MS = DAY_MS;

/** Reads the source and puts the accepted rates into use. */
export async function refreshRates(
  deps: RefreshDeps,
  now: Date,
): Promise<{ newly_held: RateCheck[] }> {
  const { source, token_source, fees, risk, currencies } = deps;
  const [reading, token_reading] = await Promise.all([
    readSource(source, now),
    token_source && readSource(token_source, now),
  ]);
  const read = toTable(reading, token_reading, currencies);
  const spreads = toSpreads(risk, currencies);
  return deps.database.transaction(async (tx) => {
    await lockPriceVersions(tx);
    const [checks, last] = await Promise.all([listRateChecks(tx), findLastPriceVersion(tx)]);
    const { rates, changed, newly_held } = checkRates(checks, read, now);
    updateRateChecks(tx, changed);
    const content = {
      source: sourceName(source, token_source),
      as_of: reading.as_of,
      rates,
      fees: toFeeTable(fees),
      spreads,
      stopped: last?.stopped ?? { offramps: [], onramps: [] },
      expires_at: firstExpiry([
        expiryOf(source, reading),
        token_source && expiryOf(token_source, token_reading!),
      ]),
    };
    recordPriceVersion(tx, last, content, now);
    return { newly_held };
  });
}

async function readSource(source: RateSource, now: Date): Promise<RateReading> {
  const reading = await source.read().catch((error) => {
    throw new RatesUnreadableError(`${source.name}: ${(error as Error).message}`, { cause: error });
  });
  if (reading.as_of && reading.as_of.getTime() - now.getTime() > FUTURE_MAX_MS) {
    throw new RatesUnreadableError(`${source.name}: its rates have a time in the future`);
  }
  return reading;
}

/** The name of both sources: prices of other sources are not used. */
export function sourceName(source: RateSource, token_source: RateSource | null): string {
  return token_source ? `${source.name}; tokens: ${token_source.name}` : source.name;
}

/**
 * A token counts as one usd where no source of tokens' rates is configured. One that the source
 * does not name has no rates: sources leave out a token when its market breaks.
 */
function toTable(
  reading: RateReading,
  token_reading: RateReading | null,
  currencies: ReadonlySet<string>,
): RateTable {
  const kept = Object.entries(reading.rates).filter(([currency]) => currencies.has(currency));
  kept.sort(([a], [b]) => (a < b ? -1 : 1));
  const rows = TOKENS.map((token) => {
    if (!token_reading) return [token, Object.fromEntries(kept)];
    const usd = token_reading.rates[token];
    const own = usd === undefined ? [] : kept.map(([code, rate]) => [code, times(rate, usd)]);
    return [token, Object.fromEntries(own)];
  });
  return Object.fromEntries(rows);
}

/** Rounded down: if in doubt a payout takes slightly more of the token, never too little. */
function times(rate: string, usd: string): string {
  const [a, b] = [parseDecimal(rate)!, parseDecimal(usd)!];
  const product = { units: a.units * b.units, scale: a.scale + b.scale };
  return formatDecimal(divideDecimals(product, ONE, RATE_DIGITS_MAX, roundDown));
}

const ONE: Decimal = { units: 1n, scale: 0 };

function toSpreads(risk: MarketRisk, currencies: ReadonlySet<string>): Record<string, number> {
  const spreads = [...currencies].sort().map((code) => [code, risk.spreadOf(code)] as const);
  return Object.fromEntries(spreads.filter(([, basis_points]) => basis_points > 0));
}

function expiryOf({ max_age_ms }: RateSource, { as_of }: RateReading): Date | null {
  return as_of && new Date(as_of.getTime() + max_age_ms);
}

function firstExpiry(expiries: readonly (Date | null)[]): Date | null {
  const times_ms = expiries.flatMap((expiry) => (expiry ? [expiry.getTime()] : []));
  return times_ms.length > 0 ? new Date(Math.min(...times_ms)) : null;
}

type PriceContent = Omit<PriceVersion, "id" | "content_hash" | "created_at">;

/** Stores the content as the last version, unless it already is. Only under lockPriceVersions. */
export function recordPriceVersion(
  tx: Transaction,
  last: PriceVersion | undefined,
  content: PriceContent,
  now: Date,
): void {
  const text = textOf(content);
  if (last && textOf(last) === text) return;
  // The hash covers the previous version: rates that return to earlier values are a version of
  // their own, since only the last one is in use.
  const content_hash = createHash("sha256")
    .update(last?.content_hash ?? "")
    .update(text)
    .digest();
  // After the last one, even if that came from a process whose clock is ahead.
  const at = new Date(Math.max(now.getTime(), last ? timeOfId(last.id).getTime() + 1 : 0));
  insertPriceVersion(tx, { ...content, id: newId(at), content_hash, created_at: at });
}

function textOf(content: PriceContent): string {
  const { source, as_of, rates, fees, spreads, stopped, expires_at } = content;
  return canonicalJson({
    source,
    as_of: as_of?.toISOString() ?? null,
    rates,
    fees,
    spreads,
    stopped,
    expires_at: expires_at?.toISOString() ?? null,
  });
}
