import { type Catalogue, railsOf } from "../catalogue/catalogue.ts";
import { TOKEN_AMOUNT_MAX, TOKEN_DIGITS, type Token } from "../catalogue/chains.ts";
import { minorDigits } from "../catalogue/currencies.ts";
import type { Rail } from "../catalogue/rails.ts";
import { isBlank } from "../catalogue/text.ts";
import { minorToText } from "../platform/money.ts";
import type { ObjectProblems } from "../platform/problems.ts";
import { affordableOfframp, isQuoted, minimumMinor, priceOfframp } from "./fees-and-minimums.ts";
import type { Prices } from "./price-book.ts";

/** Which of the two amounts was given, and its field name. */
export type Given = { name: string; fiat_minor: bigint } | { name: string; token_amount: bigint };

type Payout = {
  rate: string;
  fiat_minor: bigint;
  /** As given, or the cost of the fiat amount. */
  token_amount: bigint;
  fee_minor: bigint;
  token_fee: bigint;
};

/** Whether the currency is paid out; if not, reports a problem. */
export function checkPayoutCurrency(
  problems: ObjectProblems,
  catalogue: Catalogue,
  name: string,
  currency: string | undefined,
): currency is string {
  if (currency === undefined) return false;
  if (railsOf(catalogue, currency).length > 0) return true;
  const message =
    "This currency is not supported for payouts; see GET /payment_detail_requirements.";
  problems.report(name, "currency_not_supported", message);
  return false;
}

/** The requested rail, else the first that the currency offers: there is no payment detail yet. */
export function chooseRail(
  problems: ObjectProblems,
  catalogue: Catalogue,
  currency: string,
  asked: unknown,
): Rail | undefined {
  const offered = railsOf(catalogue, currency);
  const rail = isBlank(asked) ? offered[0] : offered.find((other) => other === asked);
  if (rail === undefined) {
    const message = `For ${currency} send rails as one of: ${offered.join(", ")}.`;
    problems.report("rails", "rails_not_available", message);
  }
  return rail;
}

/** Prices one payout from either amount; reports what prevents it. */
export function previewPayout(
  problems: ObjectProblems,
  deps: { catalogue: Catalogue; prices: Prices },
  route: { token: Token; currency: string; rail: Rail; currency_name: string },
  given: Given,
): Payout | undefined {
  const { catalogue, prices } = deps;
  const { token, currency, rail } = route;
  if (!isQuoted(prices, "offramps", token, currency)) {
    const message = "There is currently no rate for this currency; try again later.";
    problems.report(route.currency_name, "currency_not_supported", message);
    return undefined;
  }
  const fiat_minor =
    "fiat_minor" in given ? given.fiat_minor : affordableOfframp(route, given.token_amount, prices);
  const minimum = minimumMinor(catalogue, prices, token, currency, rail);
  if (fiat_minor < minimum) {
    const minimum_text = minimumText(given, { token, currency, rail, minimum }, prices);
    problems.report(
      given.name,
      "below_currency_limit",
      `Send at least ${minimum_text} by ${rail}.`,
    );
    return undefined;
  }
  const price = priceOfframp({ token, currency, rail, amount_minor: fiat_minor }, prices);
  const token_amount = "token_amount" in given ? given.token_amount : price.token_amount;
  if (token_amount > TOKEN_AMOUNT_MAX) {
    const maximum = minorToText(TOKEN_AMOUNT_MAX, TOKEN_DIGITS);
    const message = `The amount is too large: a payout can cost at most ${maximum} ${token}.`;
    problems.report(given.name, "record_invalid", message);
    return undefined;
  }
  const { rate, fee_minor, token_fee } = price;
  return { rate, fiat_minor, token_amount, fee_minor, token_fee };
}

/** The minimum, in the unit of the amount that was given. */
function minimumText(
  given: Given,
  route: { token: Token; currency: string; rail: Rail; minimum: bigint },
  prices: Prices,
): string {
  const { token, currency, minimum } = route;
  if ("fiat_minor" in given) return `${minorToText(minimum, minorDigits(currency)!)} ${currency}`;
  const { token_amount } = priceOfframp({ ...route, amount_minor: minimum }, prices);
  return `${minorToText(token_amount, TOKEN_DIGITS)} ${token}`;
}
