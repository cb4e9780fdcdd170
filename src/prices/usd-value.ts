import type { ToUsd } from "../approvals/approval-sums.ts";
import { isToken, TOKEN_DIGITS } from "../catalogue/chains.ts";
import { minorDigits } from "../catalogue/currencies.ts";
import type { Session } from "../platform/db/database.ts";
import { powerOfTen, roundUp } from "../platform/money.ts";
import type { Prices, PriceVersions } from "./price-book.ts";
import { findLastPriceVersionId } from "./store.ts";

const USD_DIGITS = 2;

/**
 * The usd value of amounts at the last accepted rates, whatever their age: good enough for a limit.
 * What leaves counts without our spread, by which more than the approval amount would leave.
 * Read through the given session, so that a transaction needs no second connection.
 */
export async function usdValue(versions: PriceVersions, session: Session): Promise<ToUsd> {
  const id = await findLastPriceVersionId(session);
  const prices = id && (await versions.find(session, [id])).get(id);
  return ({ amount, currency, is_paid_out = false }) => {
    if (currency === "usd") return amount;
    if (!prices) return null;
    if (!isToken(currency)) return usdOfFiat(prices, amount, currency);
    return usdOfToken(is_paid_out ? prices.rates : prices.source_rates, amount, currency);
  };
}

function usdOfToken(rates: Prices["rates"], amount: bigint, token: string): bigint | null {
  const rate = rates.get(token)?.get("usd");
  if (!rate) return null;
  const numerator = amount * rate.units * powerOfTen(USD_DIGITS);
  return roundUp(numerator, powerOfTen(TOKEN_DIGITS + rate.scale));
}

/** Converted through each token, as each has its own rates; the highest value counts. */
function usdOfFiat(
  { source_rates: rates }: Prices,
  amount: bigint,
  currency: string,
): bigint | null {
  const digits = minorDigits(currency);
  if (digits === undefined) return null;
  const values = [...rates.values()].flatMap((by_currency) => {
    const [from, usd] = [by_currency.get(currency), by_currency.get("usd")];
    if (!from || !usd) return [];
    const numerator = amount * usd.units * powerOfTen(from.scale + USD_DIGITS);
    return roundUp(numerator, from.units * powerOfTen(usd.scale + digits));
  });
  return values.reduce<bigint | null>((a, b) => (a !== null && a > b ? a : b), null);
}
