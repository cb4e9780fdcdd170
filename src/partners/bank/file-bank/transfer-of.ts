import { checkIdentifier } from "../../../catalogue/bank-identifiers.ts";
import { compact, textOf, upperAscii } from "../../../catalogue/text.ts";
import type {
  AccountId,
  BankId,
  CreditTransfer,
  PostalAddress,
  Scheme,
} from "../iso20022/credit-transfer.ts";
import type { Instruction } from "../port.ts";
import type { IsoRoute } from "./model.ts";
import { isReturnId } from "./returns/return-id.ts";

/** The fields of payment details that name a bank in its country's clearing system. */
const CLEARING_FIELDS = [
  { field: "routing_number", clearing_system: "USABA", country: "US" },
  { field: "sort_code", clearing_system: "GBDSC", country: "GB" },
  { field: "ifsc", clearing_system: "INFSC", country: "IN" },
  { field: "bsb_number", clearing_system: "AUBSB", country: "AU" },
] as const;

/**
 * An instruction as a payment of a file. Whether the bank can carry it out is checked later. Payees
 * give neither a purpose nor an intermediary bank: the route has them, by currency.
 */
export function transferOf(
  { scheme, purposes, intermediary_banks }: TransferTerms,
  instruction: Pick<
    Instruction,
    "end_to_end_id" | "amount" | "currency" | "beneficiary" | "reference"
  >,
  uetr: string,
): CreditTransfer {
  const { end_to_end_id, amount, currency, beneficiary, reference } = instruction;
  const read = (field: string) => textOf(beneficiary[field]);
  return {
    end_to_end_id,
    uetr,
    amount,
    currency,
    creditor: { name: read("account_name"), address: addressOf(read) },
    creditor_account: accountOf(read("iban") || read("rib_number") || read("account_number")),
    creditor_bank: bankOf(scheme, read),
    intermediary_bank: intermediary_banks[currency] ?? null,
    purpose: isReturnId(end_to_end_id) ? null : (purposes[currency] ?? null),
    remittance: reference,
  };
}

type TransferTerms = Pick<IsoRoute, "scheme" | "purposes" | "intermediary_banks">;
type Read = (field: string) => string;

function addressOf(read: Read): PostalAddress | null {
  const [town, country] = [read("city"), read("country")];
  if (!town || !country) return null;
  return {
    line1: read("address_line1") || null,
    line2: read("address_line2") || null,
    postal_code: read("postal_code") || null,
    town,
    state: read("state") || null,
    country,
  };
}

function accountOf(text: string): AccountId {
  const iban = checkIdentifier("iban", text);
  return "value" in iban ? { iban: iban.value } : { number: compact(text) };
}

/** A wire goes by the routing number; elsewhere a BIC is more exact. */
function bankOf(scheme: Scheme, read: Read): BankId | null {
  const bic = read("swift_bic") ? { bic: upperAscii(compact(read("swift_bic"))) } : null;
  if (scheme === "sepa") return bic;
  const found = CLEARING_FIELDS.find(({ field }) => read(field));
  const member = found && {
    clearing_system: found.clearing_system,
    member_id: upperAscii(compact(read(found.field))),
    name: read("bank_name") || null,
    country: found.country,
  };
  return scheme === "us_wire" ? (member ?? null) : (bic ?? member ?? null);
}
