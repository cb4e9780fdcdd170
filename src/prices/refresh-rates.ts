import { createHash } from "node:crypto";
import { TOKENS } from "../catalogue/chains.ts";
import { type FeeSchedule, type FeeTable, toFeeTable } from "../catalogue/fees.ts";
import type { RateReading, RateSource } from "../partners/rates/port.ts";
import type { Database, Transaction } from "../platform/db/database.ts";
import { DAY_MS } from "../platform/durations.ts";
import { canonicalJson } from "../platform/http/json-body.ts";
import { newId } from "../platform/ids.ts";
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
  fees: FeeSchedule;
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
  const reading = await readSource(deps.source, now);
  const read = toTable(reading, deps.currencies);
  return deps.database.transaction(async (tx) => {
    await lockPriceVersions(tx);
    const [checks, last] = await Promise.all([listRateChecks(tx), findLastPriceVersion(tx)]);
    const { rates, changed, newly_held } = checkRates(checks, read, now);
    updateRateChecks(tx, changed);
    const { source, fees } = deps;
    const content = { source: source.name, as_of: reading.as_of, rates, fees: toFeeTable(fees) };
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

/** Tokens count as one usd each. */
function toTable(reading: RateReading, currencies: ReadonlySet<string>): RateTable {
  const kept = Object.entries(reading.rates).filter(([currency]) => currencies.has(currency));
  kept.sort(([a], [b]) => (a < b ? -1 : 1));
  return Object.fromEntries(TOKENS.map((token) => [token, Object.fromEntries(kept)]));
}

type PriceContent = {
  source: string;
  as_of: Date | null;
  rates: RateTable;
  fees: FeeTable;
};

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
  const at = new Date(Math.max(now.getTime(), last ? idTimeMs(last.id) + 1 : 0));
  insertPriceVersion(tx, { ...content, id: newId(at), content_hash, created_at: at });
}

function textOf({ source, as_of, rates, fees }: PriceContent): string {
  return canonicalJson({ source, as_of: as_of?.toISOString() ?? null, rates, fees });
}

/** A UUIDv7 begins with its time. */
function idTimeMs(id: string): number {
  return Number.parseInt(id.slice(0, 8) + id.slice(9, 13), 16);
}
