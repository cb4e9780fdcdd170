import { bankCountriesOf, ibanCountryOf } from "../catalogue/bank-countries.ts";
import { accountNumberIn } from "../catalogue/bank-identifiers.ts";
import { type Catalogue, requirementOf } from "../catalogue/catalogue.ts";
import { PAYOUT_CURRENCIES } from "../catalogue/currencies.ts";
import { type FieldRule, normaliseField } from "../catalogue/field-rules.ts";
import {
  ACCOUNT_IDENTIFIERS,
  BANK_IDENTIFIERS,
  type FieldName,
} from "../catalogue/payment-detail-fields.ts";
import { DEFAULT_RAIL, RAILS, type Rail } from "../catalogue/rails.ts";
import { keyedHash } from "../platform/encryption/cipher.ts";
import type { PaymentDetail, PaymentDetailFields } from "./model.ts";

const SHOWN_DIGITS = 4;
const IDENTIFIERS: ReadonlySet<FieldName> = new Set([...ACCOUNT_IDENTIFIERS, ...BANK_IDENTIFIERS]);

/** A bank account and the rail that pays it. */
export type Payee = { fields: PaymentDetailFields; rail: Rail };

/**
 * The identifiers of account and bank by which a rail pays this account: those of the rail's first
 * complete set, then those of its other sets, then optional codes of a bank that no IBAN names.
 * Nothing else decides who is paid.
 */
export function paidBy(catalogue: Catalogue, payee: Payee): FieldName[] {
  const { fields, rail } = payee;
  const sets = requirementOf(catalogue, fields.currency ?? "", rail)?.alternatives ?? [];
  const whole = wholeSet(catalogue, payee);
  const codes = whole.some(({ check }) => check === "iban") ? [] : optionalCodes(catalogue, payee);
  const names = new Set([...[...whole, ...sets.flat()].map(({ name }) => name), ...codes]);
  return [...names].filter((name) => IDENTIFIERS.has(name) && fields[name]);
}

/** The first of the rail's sets that the account has; empty in a detail that it cannot pay. */
function wholeSet(catalogue: Catalogue, { fields, rail }: Payee): readonly FieldRule[] {
  const { alternatives = [] } = requirementOf(catalogue, fields.currency ?? "", rail) ?? {};
  return alternatives.find((set) => set.every(({ name }) => fields[name])) ?? [];
}

/** Codes of banks that the rail takes without need; none if the set that it pays by has its own. */
function optionalCodes(catalogue: Catalogue, payee: Payee): FieldName[] {
  const isCode = ({ name }: FieldRule) => BANK_IDENTIFIERS.some((code) => code === name);
  if (wholeSet(catalogue, payee).some(isCode)) return [];
  const { currency } = payee.fields;
  const { optional = [] } = requirementOf(catalogue, currency ?? "", payee.rail) ?? {};
  return optional.filter(isCode).map(({ name }) => name);
}

/**
 * Whether nothing but the bank's name says which bank it is: the rail pays by no code of a bank,
 * and the number has no known form that contains one, as an IBAN or a CLABE has. Another bank may
 * have an account of the same number.
 */
export function isBankByName(catalogue: Catalogue, payee: Payee): boolean {
  const names = paidBy(catalogue, payee);
  if (BANK_IDENTIFIERS.some((name) => names.includes(name))) return false;
  const { currency } = payee.fields;
  const { alternatives = [] } = requirementOf(catalogue, currency ?? "", payee.rail) ?? {};
  return !alternatives.flat().some(({ name, check }) => names.includes(name) && check !== null);
}

/** The name of a bank for comparison: its letters and digits. */
export function plainBankName(name: string | null | undefined): string {
  return (name ?? "")
    .normalize("NFKC")
    .toLowerCase()
    .replace(/[^\p{L}\p{M}\p{N}]+/gu, "");
}

/** Without spaces and hyphens, in upper case; a BIC of the head office without its `XXX`. */
export function plainIdentifier(text: string): string {
  const compact = normaliseField("iban", text).replaceAll("-", "");
  return /^[A-Z]{6}[A-Z0-9]{2}XXX$/.test(compact) ? compact.slice(0, 8) : compact;
}

/**
 * The account at its bank that a rail pays, for comparison: every identifier by which it pays, with
 * the country of the bank, and the bank's name where only that says which bank it is. Null in a
 * detail that the rail cannot pay.
 */
export function paidAccountOf(catalogue: Catalogue, payee: Payee): string | null {
  if (!accountField(catalogue, payee)) return null;
  const { fields } = payee;
  const identifiers = paidBy(catalogue, payee).map((name) => [
    name,
    plainIdentifier(fields[name]!),
  ]);
  const bank = isBankByName(catalogue, payee) ? plainBankName(fields.bank_name) : "";
  return JSON.stringify([bankCountry(catalogue, payee), bank, ...identifiers.sort()]);
}

/** The field that identifies the account itself; null in a detail that the rail cannot pay. */
function accountField(catalogue: Catalogue, payee: Payee): FieldName | null {
  const isAccount = (name: FieldName) => ACCOUNT_IDENTIFIERS.some((other) => other === name);
  return paidBy(catalogue, payee).find(isAccount) ?? null;
}

/**
 * What a bank is told: the payment detail without the account identifiers it does not pay by, and
 * without codes of banks that the rail has no use for, which could name another bank.
 */
export function beneficiaryOf(catalogue: Catalogue, payee: Payee): PaymentDetailFields {
  const { fields, rail } = payee;
  const paid = accountField(catalogue, payee);
  const requirement = requirementOf(catalogue, fields.currency ?? "", rail);
  if (!paid || !requirement) return fields;
  const of_sets = requirement.alternatives.flat().map(({ name }) => name);
  const used = new Set([...of_sets, ...optionalCodes(catalogue, payee)]);
  return withOneAccount(
    without(
      fields,
      BANK_IDENTIFIERS.filter((name) => !used.has(name)),
    ),
    paid,
  );
}

/**
 * Each form in which a bank may have been told this payment detail, but for codes of banks, of
 * which it may lack any: with all its accounts or one. The catalogue may have been another one.
 */
export function possibleBeneficiaries(fields: PaymentDetailFields): PaymentDetailFields[] {
  const accounts = ACCOUNT_IDENTIFIERS.filter((name) => fields[name]);
  return [fields, ...accounts.map((name) => withOneAccount(fields, name))];
}

function withOneAccount(fields: PaymentDetailFields, kept: FieldName): PaymentDetailFields {
  return without(
    fields,
    ACCOUNT_IDENTIFIERS.filter((name) => name !== kept),
  );
}

function without(fields: PaymentDetailFields, names: readonly FieldName[]): PaymentDetailFields {
  return { ...fields, ...Object.fromEntries(names.map((name) => [name, null])) };
}

/**
 * Name, masked account and bank, as members see them who vote on a payment: an account of the same
 * number at another bank is another payee.
 */
export function payeeOf(catalogue: Catalogue, payee: Payee): string {
  const { fields } = payee;
  const isCode = (name: FieldName) => BANK_IDENTIFIERS.some((code) => code === name);
  const codes = paidBy(catalogue, payee).filter(isCode);
  const bank = codes.map((name) => `${wordsOf(name)} ${fields[name]}`);
  if (fields.bank_name && isBankByName(catalogue, payee)) bank.push(fields.bank_name);
  const { account_name } = fields;
  // Quoted: a name may read like an account and an amount.
  const name = account_name ? `“${account_name.replace(/[“”"]/g, "'")}”` : "Unnamed payee";
  return [name, maskedAccount(catalogue, payee), ...bank].join(", ");
}

/** The last four characters of the account identifier; of an IBAN also the first four. */
function maskedAccount(catalogue: Catalogue, payee: Payee): string {
  const name = accountField(catalogue, payee);
  if (!name) return "no account";
  const number = payee.fields[name]!;
  // Country and check digits, which differ between banks.
  const start = name === "iban" ? number.slice(0, SHOWN_DIGITS) : "";
  return `${wordsOf(name)} ${start}…${number.slice(-SHOWN_DIGITS)}`;
}

function wordsOf(name: FieldName): string {
  return name.replaceAll("_", " ");
}

/**
 * The blind index of the bank account: the same for every payment detail of the account that names
 * it, whatever the field, the spelling, the currency and the rail (`checkSameAccount` makes sure
 * that all rails pay one account). Codes of banks do not count: the same account is reached by
 * several, or by none. So equal numbers at two banks share one limit, which is rare and safe.
 */
export function hashPayee(
  index_key: Buffer,
  catalogue: Catalogue,
  { account_id, fields }: Pick<PaymentDetail, "account_id" | "fields">,
): Buffer | null {
  const payee = { fields, rail: (fields.rails ?? DEFAULT_RAIL) as Rail };
  const name = accountField(catalogue, payee);
  if (!name) return null;
  const number = accountNumberIn(fields[name]!, bankCountry(catalogue, payee));
  return keyedHash(index_key, "payee", account_id, number);
}

/** Where a bank may be whose account is named by its number alone. */
const NUMBER_COUNTRIES: readonly (string | null)[] = [
  null,
  ...new Set(
    PAYOUT_CURRENCIES.flatMap((currency) =>
      RAILS.flatMap((rail) => bankCountriesOf(currency, rail)?.[0] ?? []),
    ),
  ),
];

/** The blind indexes that a bank account may have of which somebody knows an identifier. */
export function hashPossiblePayees(
  index_key: Buffer,
  account_id: string,
  identifier: string,
): Buffer[] {
  const numbers = NUMBER_COUNTRIES.map((country) => accountNumberIn(identifier, country));
  return [...new Set(numbers)].map((number) => keyedHash(index_key, "payee", account_id, number));
}

function bankCountry(catalogue: Catalogue, { fields, rail }: Payee): string | null {
  const { swift_bic, currency } = fields;
  if (swift_bic) return ibanCountryOf(swift_bic.slice(4, 6));
  return requirementOf(catalogue, currency ?? "", rail)?.bank_countries?.[0] ?? null;
}
