import { performance } from "node:perf_hooks";
import { type Catalogue, payoutCurrencies } from "../catalogue/catalogue.ts";
import { type FeeSchedule, toFeeSchedule } from "../catalogue/fee-table.ts";
import type { MarketRisk } from "../catalogue/market-risk.ts";
import type { RateSource } from "../partners/rates/port.ts";
import { RATE_DIGITS_MAX } from "../partners/rates/rate-text.ts";
import { runForService } from "../platform/db/caller-context.ts";
import type { Session } from "../platform/db/database.ts";
import { LruMap } from "../platform/lru-map.ts";
import type { ModuleCore } from "../platform/module.ts";
import {
  type Decimal,
  divideDecimals,
  parseDecimal,
  type Rounding,
  roundDown,
  roundUp,
} from "../platform/money.ts";
import { RatesUnreadableError, refreshRates, sourceName } from "./refresh-rates.ts";
import {
  findLastPriceVersion,
  findLastPriceVersionId,
  listPriceVersions,
  type PriceVersion,
  type Stopped,
} from "./store.ts";

/** The rates and fees that a quote is priced with. */
export type Prices = {
  readonly version_id: string;
  readonly source: string;
  /** The time of the rates; null when they never age. */
  readonly as_of: Date | null;
  /** When they are too old for new quotes; null when they never are. */
  readonly expires_at: Date | null;
  /**
   * Token → currency → destination units for one token. A token with any rate also has usd, so flat
   * fees and minimums can always be converted. Less the spread.
   */
  readonly rates: Rates;
  /** The same for onramps: the spread is added. */
  readonly onramp_rates: Rates;
  /** The same without the spread: what an amount is worth, not what it costs here. */
  readonly source_rates: Rates;
  /** Currencies with a rate that are not quoted now. */
  readonly stopped: Stopped;
  readonly fees: FeeSchedule;
};

type Rates = ReadonlyMap<string, ReadonlyMap<string, Decimal>>;

/** The prices of earlier quotes, by the version's id. */
export type PriceVersions = {
  find(session: Session, ids: readonly string[]): Promise<Map<string, Prices>>;
};

export type CurrentPrices = {
  /**
   * The prices for new quotes; `stale` when none are recent enough. With a session, they are read
   * in its transaction.
   */
  currentPrices(now: Date, session?: Session): Promise<Prices | { stale: true }>;
};

/** Reads them from the database, without a source of new rates. */
export const STORED_PRICES: PriceVersions & CurrentPrices = {
  find: async (session, ids) => {
    const rows = await listPriceVersions(session, [...ids]);
    return new Map(rows.map((row) => [row.id, toPrices(row)]));
  },
  currentPrices: async (at, session) => {
    const last = session && (await findLastPriceVersion(session));
    const prices = last && toPrices(last);
    return prices && !isOld(prices, at) ? prices : { stale: true };
  },
};

function isOld({ expires_at }: Prices, at: Date): boolean {
  return expires_at !== null && at > expires_at;
}

export type PriceBook = PriceVersions &
  CurrentPrices & {
    /** Reads the source; throws RatesUnreadableError when it returns nothing usable. */
    refresh(now: Date): Promise<void>;
    /** How long to wait before the next refresh. */
    refresh_every_ms: number;
  };

type PriceDeps = Pick<ModuleCore, "database" | "log"> & {
  catalogue: Catalogue;
  source: RateSource;
  token_source: RateSource | null;
  fees: FeeSchedule;
  risk: MarketRisk;
};

/** How long another process's new prices may go unnoticed. */
const LOOK_EVERY_MS = 5_000;
const VERSIONS_MAX = 200;
/** Flat fees and some minimums are stated in usd; onramps accept usd and eur. */
const ALWAYS_KEPT = ["eur", "usd"];

/** Opens the prices and reads the source once; if that fails, the recurring task tries again. */
export async function openPriceBook(deps: PriceDeps, now: Date): Promise<PriceBook> {
  const { database, source, token_source, fees, risk, log } = deps;
  const source_name = sourceName(source, token_source);
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
  const readLast = async (session: Session) => {
    const id = await findLastPriceVersionId(session);
    const known = id && (await find(session, [id])).get(id);
    if (known || !id) return known || undefined;
    const last = await findLastPriceVersion(session);
    return last && toPrices(last);
  };
  const look = async () => {
    const looked_at_ms = performance.now();
    last = { prices: await readLast(database), looked_at_ms };
    return last.prices;
  };
  /** One read at a time, however many callers wait. */
  const lookOnce = () => {
    looking ??= runForService(look).finally(() => {
      looking = undefined;
    });
    return looking;
  };
  const refresh = async (at: Date) => {
    const refresh_deps = { database, source, token_source, fees, risk, currencies };
    const { newly_held } = await refreshRates(refresh_deps, at);
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
    currentPrices: async (at, session) => {
      const is_recent = last && performance.now() - last.looked_at_ms < LOOK_EVERY_MS;
      const readCached = async () => (is_recent ? last!.prices : lookOnce());
      const prices = await (session ? readLast(session) : readCached());
      if (!prices || prices.source !== source_name) return { stale: true };
      return isOld(prices, at) ? { stale: true } : prices;
    },
    find,
    refresh,
    refresh_every_ms: Math.min(source.every_ms, token_source?.every_ms ?? source.every_ms),
  };
}

function toPrices(version: PriceVersion): Prices {
  const { id, source, as_of, expires_at, stopped, spreads } = version;
  const ratesWith = (addSpread: (rate: Decimal, basis_points: number) => Decimal): Rates => {
    const by_token = Object.entries(version.rates).map(([token, by_currency]) => {
      const decimals = Object.entries(by_currency).map(([currency, text]) => {
        const rate = parseDecimal(text)!;
        const basis_points = spreads[currency];
        return [currency, basis_points ? addSpread(rate, basis_points) : rate] as const;
      });
      // Without a usd rate (held, because the token lost its peg) nothing can be priced.
      const is_usable = Object.hasOwn(by_currency, "usd");
      return [token, new Map(is_usable ? decimals : [])] as const;
    });
    return new Map(by_token);
  };
  return {
    version_id: id,
    source,
    as_of,
    expires_at,
    rates: ratesWith((rate, basis_points) => share(rate, BASIS - basis_points, roundDown)),
    onramp_rates: ratesWith((rate, basis_points) => share(rate, BASIS + basis_points, roundUp)),
    source_rates: ratesWith((rate) => rate),
    stopped,
    fees: toFeeSchedule(version.fees),
  };
}

const BASIS = 10_000;

/** So many basis points of a rate, rounded to what a JSON number represents exactly. */
function share({ units, scale }: Decimal, basis_points: number, rounding: Rounding): Decimal {
  const part = { units: units * BigInt(basis_points), scale };
  return divideDecimals(part, { units: BigInt(BASIS), scale: 0 }, RATE_DIGITS_MAX, rounding);
}
