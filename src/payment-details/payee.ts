import { ACCOUNT_IDENTIFIERS } from "../catalogue/payment-detail-fields.ts";
import type { PaymentDetailFields } from "./model.ts";

const SHOWN_DIGITS = 4;

/** Who is paid and where, with the account masked: for people who have to judge a payment. */
export function payeeOf(fields: PaymentDetailFields): string {
  return `${fields.account_name ?? "Unnamed payee"}, ${maskedAccount(fields)}`;
}

/** The last four characters of the account identifier. */
function maskedAccount(fields: PaymentDetailFields): string {
  const name = ACCOUNT_IDENTIFIERS.find((field) => fields[field]);
  if (!name) return "no account";
  return `${name.replaceAll("_", " ")} …${fields[name]!.slice(-SHOWN_DIGITS)}`;
}
