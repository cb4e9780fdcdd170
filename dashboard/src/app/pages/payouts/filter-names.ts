import { among, isDay, isRecordId } from "../../parts/filters.ts";
import { formatAmount } from "../../parts/format-amount.ts";
import { statusName } from "../../parts/status-chip.tsx";

export const STATUSES = [
  "ongoing_checks",
  "bounced",
  "pending_internal_assessment",
  "sending_fiat",
  "fiat_sent",
  "failed",
  "initiated",
] as const;

export const RAILS = { local: "Local", swift: "SWIFT", wire: "Wire" } as const;

/** Why a payout is held, as people say it. */
export const HELD_BY = {
  document: "its document",
  approval: "an approval",
  identity: "the payer's identity check",
  checks: "checks on the payer",
  bank_account: "its bank account",
  deposit: "missing or late coins",
  rate: "a missing rate",
  invoice: "its invoice",
} as const;

export const CURRENCIES = [
  ...["eur", "usd", "gbp", "aed", "ars", "aud", "bob", "brl", "cad", "chf", "clp", "cny", "cop"],
  ...["crc", "czk", "dkk", "dop", "dzd", "egp", "ghs", "gtq", "hkd", "hnl", "idr", "ils", "inr"],
  ...["jpy", "kes", "krw", "mad", "mxn", "myr", "mzn", "ngn", "nok", "nzd", "pen", "php", "pln"],
  ...["pyg", "ron", "sek", "sgd", "thb", "tnd", "try", "ugx", "uyu", "vnd", "xaf", "xof", "zar"],
] as const;

const AMOUNT = /^\d{1,12}(\.\d{1,3})?$/;
const INDEX = /^[0-9a-f]{64}$/;

/** Every filter, with the values that it can have. */
export const KNOWN: Readonly<Record<string, (text: string) => boolean>> = {
  status: among(STATUSES),
  held_by: among(Object.keys(HELD_BY)),
  unanswered: among(["true"]),
  currency: among(CURRENCIES),
  rails: among(Object.keys(RAILS)),
  amount_min: (text) => AMOUNT.test(text),
  amount_max: (text) => AMOUNT.test(text),
  from: isDay,
  to: isDay,
  user_id: isRecordId,
  quote_id: isRecordId,
  payment_detail_id: isRecordId,
  payee: (text) => INDEX.test(text),
  reference: (text) => INDEX.test(text),
};

/** A filter as a person says it; amounts are in the currency that is filtered by. */
export function describeFilter(
  name: string,
  value: string,
  { currency, nameOf }: { currency: string | undefined; nameOf: (id: string) => string },
): string {
  switch (name) {
    case "status":
      return statusName(value);
    case "held_by":
      return `Held because of ${HELD_BY[value as keyof typeof HELD_BY]}`;
    case "unanswered":
      return "Without an answer of the bank";
    case "currency":
      return value.toUpperCase();
    case "rails":
      return RAILS[value as keyof typeof RAILS];
    case "amount_min":
      return `At least ${sayAmount(value, currency)}`;
    case "amount_max":
      return `At most ${sayAmount(value, currency)}`;
    case "from":
      return `From ${value}`;
    case "to":
      return `Until ${value}`;
    case "user_id":
      return `Paid by ${nameOf(value)}`;
    case "quote_id":
      return `Quote …${value.slice(-8)}`;
    case "payment_detail_id":
      return `To ${nameOf(value)}`;
    case "payee":
      return "To one bank account";
    default:
      return "With one reference";
  }
}

function sayAmount(value: string, currency: string | undefined): string {
  if (currency === undefined) return formatAmount(value, "usd");
  return `${formatAmount(value, currency)} ${currency.toUpperCase()}`;
}
