import { TOKEN_DIGITS } from "../catalogue/chains.ts";
import { minorDigits } from "../catalogue/currencies.ts";
import type { NewEntry } from "../ledger/model.ts";
import {
  type OfframpMoney,
  offrampFailedAfterInstruction,
  offrampFailedAfterReturn,
  offrampFailedBeforeInstruction,
  offrampFunded,
} from "../ledger/offramp-postings.ts";
import { postEntries } from "../ledger/post-entries.ts";
import { AccountMap } from "../platform/account-map.ts";
import type { Transaction } from "../platform/db/database.ts";
import {
  divideByRate,
  formatDecimal,
  isBelow,
  minOf,
  parseDecimal,
  roundDown,
} from "../platform/money.ts";
import type { Checked } from "../platform/problems.ts";
import type { CurrentPrices, Prices } from "../prices/price-book.ts";
import type { Offramp } from "./model.ts";
import { findReturn, type Payout } from "./payouts/model.ts";
import { listPayouts, PAYOUTS } from "./payouts/store.ts";
import type { Quote } from "./quotes/model.ts";
import { lockVouchedQuotes, updateProgress } from "./quotes/store.ts";
import { advanceOfframp, type ChangedOfframp } from "./record-changes.ts";
import { findOfframpLinks, type KeyedOfframp } from "./store.ts";

/** What giving up depends on. */
export type GiveUpFacts = {
  quotes: AccountMap<Quote>;
  /** Null when there are no recent rates. */
  prices: Prices | null;
  /** The attempts of each offramp. */
  payouts: ReadonlyMap<string, readonly Payout[]>;
  /** The offramps of which somebody changed an attempt: nothing is derived from it. */
  changed: ReadonlySet<string>;
};

/** `quote`: with what is left of its shortfall; null if that did not change. */
export type GivenUp = { change: ChangedOfframp; entries: NewEntry[]; quote: Quote | null };

type OfframpKey = { account_id: string; id: string };

const NO_FACTS: GiveUpFacts = {
  ...{ quotes: new AccountMap<Quote>(), prices: null, payouts: new Map(), changed: new Set() },
};

/** The first part: locks the quotes, which are always locked before their offramps. */
export async function lockForGiveUp(
  tx: Transaction,
  prices: CurrentPrices,
  keys: readonly OfframpKey[],
  now: Date,
): Promise<GiveUpFacts> {
  const seen = keys.length > 0 ? await findOfframpLinks(tx, keys) : [];
  if (seen.length === 0) return NO_FACTS;
  const quote_keys = seen.map(({ account_id, quote_id }) => ({ account_id, id: quote_id }));
  const locked = await lockVouchedQuotes(tx, quote_keys);
  const current = await prices.currentPrices(now, tx);
  return {
    quotes: AccountMap.of(locked, (quote) => quote),
    prices: "stale" in current ? null : current,
    payouts: new Map(),
    changed: new Set(),
  };
}

/** The second part, once the offramps are locked, too: their attempts cannot change any more. */
export async function withPayouts(
  tx: Transaction,
  facts: GiveUpFacts,
  keys: readonly OfframpKey[],
): Promise<GiveUpFacts> {
  const rows = keys.length > 0 ? await listPayouts(tx, keys) : [];
  const payouts = PAYOUTS.vouchedOnly(tx, rows);
  const known = new Set(payouts);
  const changed = new Set(rows.filter((row) => !known.has(row)).map((row) => row.offramp_id));
  return { ...facts, payouts: Map.groupBy(payouts, ({ offramp_id }) => offramp_id), changed };
}

/**
 * The offramp after it failed, with the ledger entries that return its money. While the deposit is
 * short, the quote only stops paying for it. Once the quote is funded, the offramp first receives
 * its part, if it has not yet, and then gives it back: the whole token amount if no money had left,
 * else what came back, at the rate of this moment and never better than the quote's. What is left
 * of the quote's shortfall is deducted.
 */
export function giveUp(
  { quotes, payouts, prices, changed }: GiveUpFacts,
  entry: KeyedOfframp,
  status_message: string,
  now: Date,
): Checked<GivenUp> {
  const { offramp } = entry;
  const quote = quotes.get(offramp.account_id, offramp.quote_id);
  if (!quote || changed.has(offramp.id)) {
    const message = "Its records were changed outside Sliproad: ask the operator.";
    return { problems: [{ field: "offramp_id", code: "record_not_found", message }] };
  }
  const is_funded_now = offramp.funded_at === null && quote.funded_at !== null;
  const funded_at = is_funded_now ? now : offramp.funded_at;
  const no_wait = { rate_until: null, rate_paused_at: null };
  const change = { status: "failed", status_message, funded_at, ...no_wait } as const;
  if (funded_at === null) {
    return { value: { change: advanceOfframp(entry, change, now), entries: [], quote: null } };
  }
  const came_back = findReturn(offramp, payouts.get(offramp.id) ?? []);
  const rate = came_back ? refundRate(offramp, prices) : null;
  if (came_back && !rate) {
    const { destination_currency: currency } = offramp;
    const message = `There is no current rate for ${currency}; try again later.`;
    return { problems: [{ field: "offramp_id", code: "currency_not_supported", message }] };
  }
  const worth = came_back ? refundWorth(offramp, came_back.returned, rate!) : offramp.token_amount;
  const deducted = minOf(quote.shortfall, worth);
  const facts = { given_back: worth - deducted, refund_rate: rate };
  const failed = advanceOfframp(entry, { ...change, ...facts }, now);
  const given_back = giveBackEntry(offramp, came_back && { ...came_back, worth }, deducted);
  return {
    value: {
      change: failed,
      entries: is_funded_now ? [offrampFunded(offramp), given_back] : [given_back],
      quote: deducted > 0n ? { ...quote, shortfall: quote.shortfall - deducted } : null,
    },
  };
}

/** The value in tokens of what came back. */
export function refundWorth(
  { destination_currency }: Pick<Offramp, "destination_currency">,
  returned: bigint,
  rate: string,
): bigint {
  const digits = minorDigits(destination_currency)!;
  return divideByRate(returned, digits, parseDecimal(rate)!, TOKEN_DIGITS, roundDown);
}

export function giveBackEntry(
  offramp: OfframpMoney & Pick<Offramp, "attempt">,
  came_back: Parameters<typeof offrampFailedAfterReturn>[1] | null,
  deducted: bigint,
): NewEntry {
  if (came_back) return offrampFailedAfterReturn(offramp, came_back, deducted);
  return offramp.attempt > 0
    ? offrampFailedAfterInstruction(offramp, deducted)
    : offrampFailedBeforeInstruction(offramp, deducted);
}

/** A higher rate gives fewer tokens. */
export function refundRate(offramp: Offramp, prices: Prices | null): string | null {
  const now = prices?.rates.get(offramp.deposit_token)?.get(offramp.destination_currency);
  if (!now) return null;
  const of_quote = parseDecimal(offramp.rate)!;
  return formatDecimal(isBelow(now, of_quote) ? of_quote : now);
}

/** Writes the ledger entries, and what is left of the shortfalls. */
export function recordGiveUps(tx: Transaction, given_up: readonly GivenUp[], now: Date): void {
  postEntries(
    tx,
    given_up.flatMap(({ entries }) => entries),
    now,
  );
  const quotes = given_up.flatMap(({ quote }) => quote ?? []);
  // The last one counts: it includes the deductions of the others.
  for (const quote of new Map(quotes.map((quote) => [quote.id, quote])).values()) {
    updateProgress(tx, quote);
  }
}
