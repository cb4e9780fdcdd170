import { type Catalogue, railsOf } from "../catalogue/catalogue.ts";
import { minorDigits } from "../catalogue/currencies.ts";
import { documentRequired } from "../catalogue/document-rules.ts";
import { DEFAULT_RAIL, type Rail } from "../catalogue/rails.ts";
import { type PaymentDetail, satisfiesRail } from "../payment-details/model.ts";
import { notFound } from "../platform/errors.ts";
import { minorToText } from "../platform/money.ts";
import type { ObjectProblems } from "../platform/problems.ts";
import { isQuoted, minimumMinor, priceOfframp } from "../prices/fees-and-minimums.ts";
import type { Prices } from "../prices/price-book.ts";
import type { CheckedItem } from "./check-items.ts";
import type { Quote } from "./quotes/model.ts";

type Context = {
  prices: Prices;
  quote: Pick<Quote, "deposit_token">;
  report: ObjectProblems["report"];
};
export type PricedTerms = ReturnType<typeof priceOfframp> & {
  rails: Rail;
  currency: string;
  amount: bigint;
};

/** Checks an item once its rail is known; null where it cannot be priced. */
export function checkItemTerms(
  catalogue: Catalogue,
  item: CheckedItem,
  detail: PaymentDetail | undefined,
  { prices, quote, report }: Context,
): PricedTerms | null {
  if (!detail) {
    if (item.payment_detail_id) {
      report("payment_detail_id", "record_not_found", notFound("").message);
    }
    return null;
  }
  if (detail.status === "deactivated") {
    const message = "The payment detail was deactivated; use another one.";
    report("payment_detail_id", "payment_detail_deactivated", message);
  } else if (detail.status === "failed") {
    const message = "The payment detail was rejected; use another one.";
    report("payment_detail_id", "payment_detail_not_approved", message);
  }
  const currency = item.destination_currency;
  if (currency === null) return null;
  if (currency !== detail.fields.currency) {
    const message = `Send ${detail.fields.currency}, the currency of the payment detail.`;
    report("destination_currency", "currency_mismatch", message);
    return null;
  }
  const rail = resolveRail(item, detail);
  if (!isRailUsable(catalogue, item, detail, rail)) {
    const message = `Choose a rail of ${currency} for which the payment detail has all fields.`;
    report("rails", "rails_not_available", message);
    return null;
  }
  if (!isQuoted(prices, "offramps", quote.deposit_token, currency)) {
    const message = "This currency was not offered when the quote was created; create a new quote.";
    report("destination_currency", "currency_not_supported", message);
    return null;
  }
  const amount = item.destination_amount;
  if (amount === null) return null;
  checkMinimumAndDocument(catalogue, item, { prices, quote, report }, { currency, rail, amount });
  const priced = priceOfframp(
    { amount_minor: amount, currency, rail, token: quote.deposit_token },
    prices,
  );
  return { ...priced, rails: rail, currency, amount };
}

/** EUR always uses the payment detail's rail; other currencies use the requested rail, if any. */
function resolveRail(item: CheckedItem, detail: PaymentDetail): Rail {
  const own = detail.fields.rails as Rail;
  if (detail.fields.currency === "eur") return own;
  return item.requested_rail ?? own ?? DEFAULT_RAIL;
}

function isRailUsable(
  catalogue: Catalogue,
  item: CheckedItem,
  detail: PaymentDetail,
  rail: Rail,
): boolean {
  const { currency } = detail.fields;
  if (!item.is_rail_known) return false;
  if (!railsOf(catalogue, currency ?? "").includes(rail)) return false;
  return rail === detail.fields.rails || satisfiesRail(catalogue, detail.fields, rail);
}

function checkMinimumAndDocument(
  catalogue: Catalogue,
  item: CheckedItem,
  { prices, quote, report }: Context,
  payment: { currency: string; rail: Rail; amount: bigint },
): void {
  const { currency, rail, amount } = payment;
  const minimum = minimumMinor(catalogue, prices, quote.deposit_token, currency, rail);
  if (amount < minimum) {
    const minimum_text = minorToText(minimum, minorDigits(currency)!);
    const message = `Send at least ${minimum_text} ${currency} by ${rail}.`;
    report("destination_amount", "below_currency_limit", message);
  }
  if (item.submitted_url === null && documentRequired(currency, rail, amount)) {
    const message = "This payout needs a supporting document: set `submitted_url`.";
    const name = "supporting_document_attributes.submitted_url";
    report(name, "supporting_document_required", message);
  }
}
