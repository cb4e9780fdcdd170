import { type Catalogue, minimumOf } from "../catalogue/catalogue.ts";
import { TOKEN_DIGITS, type Token } from "../catalogue/chains.ts";
import { minorDigits } from "../catalogue/currencies.ts";
import type { Fee } from "../catalogue/fee-table.ts";
import type { Rail } from "../catalogue/rails.ts";
import {
  type Decimal,
  divideByRate,
  formatDecimal,
  multiplyByRate,
  parseDecimal,
  powerOfTen,
  roundDown,
  roundUp,
} from "../platform/money.ts";
import type { Prices } from "./price-book.ts";

/** Amounts in minor units of the destination currency; token amounts in millionths. */
type OfframpPrice = {
  /** Destination units for one token, as exact decimal text. */
  rate: string;
  fee_minor: bigint;
  token_amount: bigint;
  token_fee: bigint;
};

type Route = { token: Token; currency: string; rail: Rail };

const BASIS = 10_000n;

/** Whether there is a rate; without one, the functions below throw. */
export function hasRate(prices: Prices, token: Token, currency: string): boolean {
  return prices.rates.get(token)?.has(currency) ?? false;
}

/** Whether new quotes or onramps may use this rate. */
export function isQuoted(
  prices: Prices,
  direction: keyof Prices["stopped"],
  token: Token,
  currency: string,
): boolean {
  return hasRate(prices, token, currency) && !prices.stopped[direction].includes(currency);
}

function rateOf({ rates }: Pick<Prices, "rates">, token: Token, currency: string): Decimal {
  const rate = rates.get(token)?.get(currency);
  if (!rate) throw new Error(`there is no rate for ${token} and ${currency}`);
  return rate;
}

/**
 * The cost of one offramp. Everything is rounded up, so a deposit always covers the payouts that it
 * funds.
 */
export function priceOfframp(
  { amount_minor, ...route }: Route & { amount_minor: bigint },
  prices: Prices,
): OfframpPrice {
  const rate = rateOf(prices, route.token, route.currency);
  const fee_minor = feeOf(route, amount_minor, prices);
  const digits = minorDigits(route.currency)!;
  const toToken = (minor: bigint) => divideByRate(minor, digits, rate, TOKEN_DIGITS, roundUp);
  return {
    rate: formatDecimal(rate),
    fee_minor,
    token_amount: toToken(amount_minor + fee_minor),
    token_fee: toToken(fee_minor),
  };
}

/** The percentage and the flat part are added exactly, and rounded once. */
function feeOf(route: Route, amount_minor: bigint, prices: Prices): bigint {
  const { basis_points, flat_usd } = prices.fees[route.rail];
  const share = { numerator: amount_minor * BigInt(basis_points), denominator: BASIS };
  const flat = convertUsd(route, flat_usd, prices);
  return roundUp(
    share.numerator * flat.denominator + flat.numerator * share.denominator,
    share.denominator * flat.denominator,
  );
}

/** A usd amount in minor units of the currency, as a fraction: its rate over the usd rate. */
function convertUsd(
  { token, currency }: { token: Token; currency: string },
  usd: Decimal,
  prices: Prices,
) {
  const to = rateOf(prices, token, currency);
  const from = rateOf(prices, token, "usd");
  const digits = minorDigits(currency)!;
  return {
    numerator: usd.units * to.units * powerOfTen(from.scale + digits),
    denominator: from.units * powerOfTen(usd.scale + to.scale),
  };
}

/** The largest amount that these tokens pay for, fee included; 0 when they pay for none. */
export function affordableOfframp(route: Route, token_amount: bigint, prices: Prices): bigint {
  const rate = rateOf(prices, route.token, route.currency);
  const digits = minorDigits(route.currency)!;
  const without_fee = multiplyByRate(token_amount, TOKEN_DIGITS, rate, digits, roundDown);
  return largest(without_fee, (amount_minor) => {
    return priceOfframp({ ...route, amount_minor }, prices).token_amount <= token_amount;
  });
}

export type OnrampPrice = { rate: string; fee_minor: bigint; deposit_minor: bigint };

/** The fiat price of this many millionths of a token. */
export function priceOnramp(
  { token, currency, token_amount }: { token: Token; currency: string; token_amount: bigint },
  prices: Prices,
): OnrampPrice {
  const rate = rateOf({ rates: prices.onramp_rates }, token, currency);
  const digits = minorDigits(currency)!;
  const value_minor = multiplyByRate(token_amount, TOKEN_DIGITS, rate, digits, roundUp);
  const fee_rate = shareOf(prices.fees.onramp, rate);
  const fee_minor = multiplyByRate(token_amount, TOKEN_DIGITS, fee_rate, digits, roundUp);
  return { rate: formatDecimal(rate), fee_minor, deposit_minor: value_minor + fee_minor };
}

/** The largest token amount that a deposit pays for, fee included. */
export function affordableOnramp(
  { token, currency }: { token: Token; currency: string },
  deposit_minor: bigint,
  prices: Prices,
): bigint {
  const rate = rateOf({ rates: prices.onramp_rates }, token, currency);
  const digits = minorDigits(currency)!;
  const without_fee = divideByRate(deposit_minor, digits, rate, TOKEN_DIGITS, roundDown);
  return largest(without_fee, (token_amount) => {
    return priceOnramp({ token, currency, token_amount }, prices).deposit_minor <= deposit_minor;
  });
}

function shareOf({ basis_points }: Fee, rate: Decimal): Decimal {
  return { units: rate.units * BigInt(basis_points), scale: rate.scale + 4 };
}

/** The largest number from 0 to `most` for which `fits` is true; `fits` must be monotonic. */
function largest(most: bigint, fits: (candidate: bigint) => boolean): bigint {
  let [low, high] = [0n, most];
  while (low < high) {
    const middle = (low + high + 1n) / 2n;
    if (fits(middle)) low = middle;
    else high = middle - 1n;
  }
  return low;
}

/** The minimum destination amount; an amount equal to it passes. */
export function minimumMinor(
  catalogue: Catalogue,
  prices: Prices,
  token: Token,
  currency: string,
  rail: Rail,
): bigint {
  const minimum = minimumOf(catalogue, currency, rail);
  if ("amount" in minimum) return toMinor(minimum.amount, currency);
  const usd = parseDecimal(minimum.usd_equivalent)!;
  const { numerator, denominator } = convertUsd({ token, currency }, usd, prices);
  return roundUp(numerator, denominator);
}

function toMinor(catalogue_text: string, currency: string): bigint {
  const { units, scale } = parseDecimal(catalogue_text)!;
  return roundUp(units * powerOfTen(minorDigits(currency)!), powerOfTen(scale));
}
