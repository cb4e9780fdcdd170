import { ACCOUNT_IDENTIFIERS } from "../catalogue/payment-detail-fields.ts";
import { keyedHash } from "../platform/encryption/cipher.ts";
import type { PaymentDetail, PaymentDetailFields } from "./model.ts";

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

/**
 * The blind index of the bank account: the same for every payment detail of the account that names
 * it, in whichever field. Only the identifier counts: optional fields make no difference.
 */
export function hashPayee(
  index_key: Buffer,
  { account_id, fields }: Pick<PaymentDetail, "account_id" | "fields">,
): Buffer | null {
  const name = ACCOUNT_IDENTIFIERS.find((field) => fields[field]);
  if (!name) return null;
  const identifier = fields[name]!.replace(/[^a-z0-9]/gi, "").toUpperCase();
  return keyedHash(index_key, "payee", account_id, fields.currency ?? "", identifier);
}
