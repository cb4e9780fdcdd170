import { checkIdentifier } from "../../../catalogue/bank-identifiers.ts";
import { isCountry } from "../../../catalogue/countries.ts";
import { CURRENCIES } from "../../../catalogue/currencies.ts";
import type { Problem } from "../../../platform/errors.ts";
import { Problems } from "../../../platform/problems.ts";
import { isWritableAmount } from "./amount-text.ts";
import { isReadable, toBankText } from "./bank-text.ts";
import {
  type AccountId,
  type BankId,
  type CreditTransfer,
  type PostalAddress,
  SCHEMES,
  type Scheme,
} from "./credit-transfer.ts";

const PAYMENT_ID = /^[A-Za-z0-9](-?[A-Za-z0-9]){0,34}$/;
const UETR = /^[a-f0-9]{8}-[a-f0-9]{4}-4[a-f0-9]{3}-[89ab][a-f0-9]{3}-[a-f0-9]{12}$/;
const ACCOUNT_NUMBER = /^[A-Za-z0-9]{1,34}$/;
const ISO_PURPOSE = /^[A-Z]{4}$/;
const OWN_PURPOSE = /^[A-Za-z0-9/?:().,'+-]{1,35}$/;

/** The form of a bank's number in each clearing system, by its ISO external code. */
const MEMBER_IDS: Readonly<Record<string, RegExp>> = {
  USABA: /^\d{9}$/,
  GBDSC: /^\d{6}$/,
  INFSC: /^[A-Z]{4}0[A-Z0-9]{6}$/,
  AUBSB: /^\d{6}$/,
  CACPA: /^\d{9}$/,
  HKNCC: /^\d{3}$/,
  NZNCC: /^\d{6}$/,
  CNAPS: /^\d{12}$/,
  JPZGN: /^\d{7}$/,
};

/** Letters, digits and single hyphens, at most 35: what every bank keeps unchanged. */
export function isPaymentId(id: string): boolean {
  return id.length <= 35 && PAYMENT_ID.test(id);
}

/** Codes of ISO's list have four letters; those of countries and banks have not. */
export function isIsoPurpose(purpose: string): boolean {
  return ISO_PURPOSE.test(purpose);
}

/** SEPA has the codes of ISO only. */
export function isPurpose(scheme: Scheme, purpose: string): boolean {
  return isIsoPurpose(purpose) || (scheme !== "sepa" && OWN_PURPOSE.test(purpose));
}

/**
 * Everything that would make a bank reject this payment, or the file because of it. Identifiers are
 * never shortened or transliterated: another account would be paid.
 */
export function checkTransfer(scheme: Scheme, transfer: CreditTransfer): readonly Problem[] {
  const problems = new Problems();
  checkAmount(problems, scheme, transfer);
  checkIds(problems, scheme, transfer);
  if (!isReadable(toBankText(transfer.creditor.name))) {
    problems.invalid("account_name", "Send a name that can be written in Latin letters.");
  }
  const { address } = transfer.creditor;
  if (address) checkAddress(problems, address);
  else if (scheme !== "sepa") problems.missing("city", "Send the payee's city and country.");
  checkAccount(problems, scheme, transfer.creditor_account);
  checkBanks(problems, scheme, transfer);
  return problems.list;
}

function checkAmount(
  problems: Problems,
  scheme: Scheme,
  { amount, currency }: CreditTransfer,
): void {
  const { currency: only, amount_max } = SCHEMES[scheme];
  if (!CURRENCIES.has(currency) || (only !== null && currency !== only)) {
    problems.invalid("currency", `Send ${only ?? "an ISO 4217 currency"}.`);
  }
  if (!isWritableAmount(amount) || (amount_max !== null && amount > amount_max)) {
    problems.invalid("amount", "Send an amount above zero that this rail can carry.");
  }
}

function checkIds(problems: Problems, scheme: Scheme, transfer: CreditTransfer): void {
  if (!isPaymentId(transfer.end_to_end_id)) {
    problems.invalid("end_to_end_id", "Send up to 35 letters, digits and single hyphens.");
  }
  const { uetr, purpose } = transfer;
  if (SCHEMES[scheme].is_uetr_sent && (uetr === null || !UETR.test(uetr))) {
    problems.invalid("uetr", "Send a UUID of version 4 in lower case.");
  }
  if (purpose !== null && !isPurpose(scheme, purpose)) {
    problems.invalid("purpose", "Send an ISO purpose code of four letters, e.g. SALA.");
  }
}

function checkAddress(problems: Problems, { town, country }: PostalAddress): void {
  if (!isReadable(toBankText(town))) problems.invalid("city", "Send the payee's city.");
  if (!isCountry(country)) problems.invalid("country", "Send the payee's country, e.g. PT.");
}

function checkAccount(problems: Problems, scheme: Scheme, account: AccountId): void {
  if ("iban" in account) {
    const checked = checkIdentifier("iban", account.iban);
    if ("reason" in checked) problems.invalid("iban", checked.reason);
    else if (checked.value !== account.iban) problems.invalid("iban", "Send it without spaces.");
    return;
  }
  if (scheme === "sepa") problems.missing("iban", "Send the payee's IBAN.");
  if (!ACCOUNT_NUMBER.test(account.number)) {
    problems.invalid("account_number", "Send up to 34 letters and digits without spaces.");
  }
}

function checkBanks(problems: Problems, scheme: Scheme, transfer: CreditTransfer): void {
  const { creditor_bank: bank, intermediary_bank } = transfer;
  if (bank) checkBank(problems, bank);
  else if (scheme !== "sepa") problems.missing("swift_bic", "Send the BIC of the payee's bank.");
  if (intermediary_bank) checkBank(problems, intermediary_bank);
  if (scheme === "us_wire" && !(bank && "member_id" in bank && bank.clearing_system === "USABA")) {
    problems.missing("routing_number", "Send the routing number of the payee's bank.");
  }
}

function checkBank(problems: Problems, bank: BankId): void {
  if ("bic" in bank) {
    const checked = checkIdentifier("bic", bank.bic);
    if ("reason" in checked) problems.invalid("swift_bic", checked.reason);
    else if (checked.value !== bank.bic) problems.invalid("swift_bic", "Send it in upper case.");
    return;
  }
  const known = Object.hasOwn(MEMBER_IDS, bank.clearing_system);
  if (!known || !MEMBER_IDS[bank.clearing_system]!.test(bank.member_id)) {
    problems.invalid("bank_code", "Send the bank's number in its country's clearing system.");
  }
  if (!isCountry(bank.country)) problems.invalid("country", "Send the bank's country, e.g. US.");
}
