import { performance } from "node:perf_hooks";
import { type Catalogue, payoutCurrencies } from "../catalogue/catalogue.ts";
import { type FeeSchedule, toFeeSchedule } from "../catalogue/fees.ts";
import type { RateSource } from "../partners/rates/port.ts";
import type { Database, Session } from "../platform/db/database.ts";
import { LruMap } from "../platform/lru-map.ts";
import { type Decimal, parseDecimal } from "../platform/money.ts";
import type { TaskLog } from "../platform/tasks/task-log.ts";
import { RatesUnreadableError, refreshRates } from "./refresh-rates.ts";
import { findLastPriceVersionId, listPriceVersions, type PriceVersion } from "./store.ts";

/** The rates and fees that a quote is priced with. */
export type Prices = {
  readonly version_id: string;
  readonly source: string;
  /** The time of the rates; null when they never age. */
  readonly as_of: Date | null;
  /**
   * Token → currency → destination units for one token. A token with any rate also has usd, so flat
   * fees and minimums can always be converted.
   */
  readonly rates: ReadonlyMap<string, ReadonlyMap<string, Decimal>>;
  readonly fees: FeeSchedule;
};

/** The prices of earlier quotes, by the version's id. */
export type PriceVersions = {
  find(session: Session, ids: readonly string[]): Promise<Map<string, Prices>>;
};

/** Reads them from the database, without a source of new rates. */
export const STORED_PRICES: PriceVersions = {
  find: async (session, ids) => {
    const rows = await listPriceVersions(session, [...ids]);
    return new Map(rows.map((row) => [row.id, toPrices(row)]));
  },
};

export type PriceBook = PriceVersions & {
  /** The prices for new quotes; `stale` when none are recent enough. */
  currentPrices(now: Date): Promise<Prices | { stale: true }>;
  /** Reads the source; throws RatesUnreadableError when it returns nothing usable. */
  refresh(now: Date): Promise<void>;
  /** How long to wait before the next refresh. */
  refresh_every_ms: number;
};

type PriceDeps = {
  database: Database;
  catalogue: Catalogue;
  source: RateSource;
  fees: FeeSchedule;
  max_age_ms: number;
  log: TaskLog;
};

/** How long another process's new prices may go unnoticed. */
const LOOK_EVERY_MS = 5_000;
const VERSIONS_MAX = 200;
/** Flat fees and some minimums are stated in usd; onramps accept usd and eur. */
const ALWAYS_KEPT = ["eur", "usd"];

/** Opens the prices and reads the source once; if that fails, the recurring task tries again. */
export async function openPriceBook(deps: PriceDeps, now: Date): Promise<PriceBook> {
  const { database, source, fees, max_age_ms, log } = deps;
  const currencies = new Set([...payoutCurrencies(deps.catalogue), ...ALWAYS_KEPT]);
  const versions = new LruMap<string, Prices>(VERSIONS_MAX);
  let last: { prices: Prices | undefined; looked_at_ms: number } | undefined;
  let looking: Promise<Prices | undefined> | undefined;

  const find: PriceBook["find"] = async (session, ids) => {
    const found = new Map<string, Prices>();
    const missing = new Set<string>();
    for (const id of ids) {
      const prices = versions.get(id);
      if (prices) found.set(id, prices);
      else missing.add(id);
    }
    if (missing.size === 0) return found;
    for (const row of await listPriceVersions(session, [...missing])) {
      const prices = toPrices(row);
      versions.set(row.id, prices);
      found.set(row.id, prices);
    }
    return found;
  };
  const look = async () => {
    const looked_at_ms = performance.now();
    const id = await findLastPriceVersionId(database);
    const prices = id && (await find(database, [id])).get(id);
    last = { prices: prices || undefined, looked_at_ms };
    return last.prices;
  };
  /** One read at a time, however many callers wait. */
  const lookOnce = () => {
    looking ??= look().finally(() => {
      looking = undefined;
    });
    return looking;
  };
  const refresh = async (at: Date) => {
    const { newly_held } = await refreshRates({ database, source, fees, currencies }, at);
    for (const { token, currency, accepted_rate, held_rate } of newly_held) {
      const next = `sliproad rates confirm ${token} ${currency} ${held_rate}`;
      log.warn(
        { token, currency, accepted_rate, held_rate, next },
        "a rate is held until an operator confirms it",
      );
    }
    await look();
  };

  await refresh(now).catch((error) => {
    if (!(error instanceof RatesUnreadableError)) throw error;
    log.error({ err: error }, "the rates could not be read");
  });
  return {
    currentPrices: async (at) => {
      const is_recent = last && performance.now() - last.looked_at_ms < LOOK_EVERY_MS;
      const prices = is_recent ? last!.prices : await lookOnce();
      if (!prices || prices.source !== source.name) return { stale: true };
      const age_ms = prices.as_of ? at.getTime() - prices.as_of.getTime() : 0;
      return age_ms > max_age_ms ? { stale: true } : prices;
    },
    find,
    refresh,
    refresh_every_ms: source.every_ms,
  };
}

function toPrices({ id, source, as_of, rates, fees }: PriceVersion): Prices {
  const by_token = Object.entries(rates).map(([token, by_currency]) => {
    const decimals = Object.entries(by_currency).map(
      ([currency, rate]) => [currency, parseDecimal(rate)!] as const,
    );
    // Without a usd rate (held, because the token lost its peg) nothing can be priced.
    const is_usable = Object.hasOwn(by_currency, "usd");
    return [token, new Map(is_usable ? decimals : [])] as const;
  });
  return { version_id: id, source, as_of, rates: new Map(by_token), fees: toFeeSchedule(fees) };
}
