import { type Decimal, parseDecimal } from "../platform/money.ts";

/** Token → currency → destination units for one token, as exact decimal text. */
export type RateTable = Record<string, Record<string, string>>;

/** The last accepted rate, and one that is held because it differs too much. */
export type RateCheck = {
  token: string;
  currency: string;
  accepted_rate: string;
  accepted_at: Date;
  held_rate: string | null;
  held_at: Date | null;
};

type CheckedRates = {
  /** The rates that may be quoted; held rates are left out. */
  rates: RateTable;
  /** The checks that changed. */
  changed: RateCheck[];
  /** The changed checks that stop a currency that was quoted before. */
  newly_held: RateCheck[];
};

const DIFFERENCE_MAX_PERCENT = 5n;

/**
 * A wrong rate could pay out a multiple of the deposit. So one that differs by more than 5 % from
 * the last accepted rate is held until the operator confirms it, or the source returns to it.
 */
export function checkRates(known: readonly RateCheck[], read: RateTable, now: Date): CheckedRates {
  const rates: RateTable = {};
  const changed: RateCheck[] = [];
  const newly_held: RateCheck[] = [];
  const unread = new Map(known.map((check) => [`${check.token} ${check.currency}`, check]));
  for (const [token, by_currency] of Object.entries(read)) {
    const accepted: Record<string, string> = {};
    for (const [currency, rate] of Object.entries(by_currency)) {
      const before = unread.get(`${token} ${currency}`);
      unread.delete(`${token} ${currency}`);
      const check = checkRate(before, { token, currency, rate }, now);
      if (check.held_rate === null) accepted[currency] = rate;
      else if (before?.held_rate === null) newly_held.push(check);
      if (check !== before) changed.push(check);
    }
    rates[token] = accepted;
  }
  // A rate that the source no longer returns cannot be confirmed.
  for (const check of unread.values()) {
    if (check.held_rate !== null) changed.push({ ...check, held_rate: null, held_at: null });
  }
  return { rates, changed, newly_held };
}

/** The check after this reading; the same object when nothing changed. */
function checkRate(
  before: RateCheck | undefined,
  { token, currency, rate }: { token: string; currency: string; rate: string },
  now: Date,
): RateCheck {
  if (before && isTooFar(parseDecimal(before.accepted_rate)!, parseDecimal(rate)!)) {
    if (before.held_rate === rate) return before;
    return { ...before, held_rate: rate, held_at: before.held_at ?? now };
  }
  if (before?.accepted_rate === rate && before.held_rate === null) return before;
  return { token, currency, accepted_rate: rate, accepted_at: now, held_rate: null, held_at: null };
}

function isTooFar(accepted: Decimal, rate: Decimal): boolean {
  const scale = Math.max(accepted.scale, rate.scale);
  const unitsOf = ({ units, scale: own }: Decimal) => units * 10n ** BigInt(scale - own);
  const difference = unitsOf(rate) - unitsOf(accepted);
  const distance = difference < 0n ? -difference : difference;
  return distance * 100n > unitsOf(accepted) * DIFFERENCE_MAX_PERCENT;
}
