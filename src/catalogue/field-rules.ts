import type { Parsed } from "../platform/problems.ts";
import { checkIdentifier, IDENTIFIERS, type IdentifierCheck } from "./bank-identifiers.ts";
import type { FieldName } from "./payment-detail-fields.ts";
import { compact, upperAscii } from "./text.ts";

/** The rule of one field for one currency and rail. `pattern` applies to the normalised value. */
export type FieldRule = {
  name: FieldName;
  pattern: string | null;
  check: IdentifierCheck | null;
  description: string;
  example: string;
  /** The value belongs to another field, which is set to it. */
  stands_for?: FieldName;
};

/** Normalises a value and checks it against its rule. */
export function checkFieldRule(rule: FieldRule, text: string): Parsed<string> {
  const value = normaliseField(rule.name, text);
  const identified: Parsed<string> = rule.check ? checkIdentifier(rule.check, value) : { value };
  if ("reason" in identified || !rule.pattern) return identified;
  if (patternOf(rule.pattern).test(identified.value)) return identified;
  return { reason: `Send ${rule.description}, e.g. ${rule.example}.` };
}

/** The stored form of a field: long numbers without spaces, codes in upper case. */
export function normaliseField(name: FieldName, text: string): string {
  let value = text.trim();
  if (COMPACT_FIELDS.has(name)) value = compact(value);
  if (UPPER_FIELDS.has(name)) value = upperAscii(value);
  return name === "phone" ? value.replace(/[\s().-]+/g, "") : value;
}

const COMPACT_FIELDS: ReadonlySet<FieldName> = new Set([
  ...(["account_number", "routing_number", "rib_number", "iban", "swift_bic"] as const),
  ...(["sort_code", "bsb_number", "bank_code", "branch_code", "ncc", "ifsc"] as const),
]);

const UPPER_FIELDS: ReadonlySet<FieldName> = new Set([
  ...(["iban", "swift_bic", "ifsc", "rib_number", "country", "nationality"] as const),
]);

// Patterns come from the catalogue only, so this map is limited to its distinct patterns.
const compiled = new Map<string, RegExp>();

function patternOf(source: string): RegExp {
  const pattern = compiled.get(source) ?? new RegExp(source);
  compiled.set(source, pattern);
  return pattern;
}

// The requirements table replaces it with one of the currency's own country.
const EXAMPLE_IBAN = "DE89370400440532013000";

/** A national code that has no publicly known form, without signs. */
const CODE = "^[0-9A-Za-z]{1,20}$";

/** The rules that the requirements table is composed of. */
export const RULES = {
  iban: identifier("iban", "iban", "the IBAN", EXAMPLE_IBAN),
  iban_as_account_number: {
    ...identifier("account_number", "iban", "the IBAN", EXAMPLE_IBAN),
    pattern: null,
    stands_for: "iban",
  },
  bic: identifier("swift_bic", "bic", "the bank's BIC of 8 or 11 characters", "DEUTDEFF"),
  routing_number: identifier(
    "routing_number",
    "aba",
    "the ABA routing number of 9 digits",
    "021000021",
  ),
  us_account: account(6, 17, "000123456789"),
  us_swift_account: account(6, 25, "000123456789"),
  any_account: account(4, 34, "0012345678"),
  account: plain(
    "account_number",
    "the account number of 6 to 25 digits",
    "0012345678",
    "^(?=0*[1-9])\\d{6,25}$",
  ),
  sort_code: identifier("sort_code", "sort_code", "the sort code of 6 digits", "20-00-00"),
  uk_account: identifier(
    "account_number",
    "uk_account",
    "the UK account number of 8 digits",
    "55779911",
  ),
  clabe: identifier("account_number", "clabe", "the CLABE of 18 digits", "032180000118359719"),
  cbu: identifier("account_number", "cbu", "the CBU or CVU of 22 digits", "2850590940090418135201"),
  rib_ma: rib("rib_ma", "the Moroccan RIB of 24 digits", "011519000001205000534921"),
  rib_tn: rib("rib_tn", "the Tunisian RIB of 20 digits", "10006035183598478831"),
  rib_dz: rib("rib_dz", "the Algerian RIB of 20 digits", "00799999002345678941"),
  rib_cemac: rib("rib_cemac", "the RIB of 23 letters and digits", "10002000300277976315008"),
  rib_uemoa: rib("rib_uemoa", "the RIB of 24 letters and digits", "SN0100152000048500003035"),
  bsb: identifier("bsb_number", "bsb", "the BSB of 6 digits", "062-000"),
  ifsc: identifier("ifsc", "ifsc", "the branch's IFSC of 11 characters", "HDFC0000001"),
  bank_code: plain("bank_code", "the national code of the bank", "001", CODE),
  branch_code: plain("branch_code", "the code of the branch", "00012", CODE),
  ncc: plain("ncc", "the national clearing code", "010001", CODE),
  account_type: plain("account_type", "checking or savings", "checking", "^(checking|savings)$"),
  document_number: plain(
    "document_number",
    "the number of the identity document",
    "123456785",
    "^(?=[^0-9]*[0-9])[0-9A-Za-z ./-]{1,40}$",
  ),
  document_number_ars: plain(
    "document_number",
    "the DNI, CUIT or CUIL of 8 to 12 digits",
    "20123456786",
    "^\\d{8,12}$",
  ),
  document_number_cop: plain(
    "document_number",
    "the document's number of 1 to 15 digits",
    "1032456789",
    "^\\d{1,15}$",
  ),
  phone: plain("phone", "the phone number in E.164 form", "+14155550123", "^\\+[1-9]\\d{6,14}$"),
  neighbourhood: plain("neighbourhood", "the neighbourhood of the address", "Centro"),
  activity: plain("activity", "the occupation or business activity", "Software development"),
  gender: plain("gender", "o, m or f", "f", "^(o|m|f)$"),
  american_nationality: plain(
    "nationality",
    "a nationality of the Americas as an ISO 3166-1 alpha-2 code",
    "CL",
    `^(${[
      "AG|AI|AR|AW|BB|BM|BO|BQ|BR|BS|BZ|CA|CL|CO|CR|CU|DM|DO|EC|FK|GD|GL|GP|GS|GT|GY|HN|HT|JM|KN",
      "KY|LC|MQ|MS|MX|NI|PA|PE|PR|PY|SR|SV|TC|TT|US|UY|VC|VE|VG|VI",
    ].join("|")})$`,
  ),
} as const satisfies Record<string, FieldRule>;

/** The rules of these fields if a currency has no other. */
export const USUAL_RULES: readonly FieldRule[] = [
  RULES.iban,
  RULES.bic,
  RULES.routing_number,
  RULES.sort_code,
  RULES.bsb,
  RULES.ifsc,
  RULES.phone,
];

/** One of a few document types; the first is the example. */
export function documentType(...types: [string, ...string[]]): FieldRule {
  const description = `one of the document types ${types.join(", ")}`;
  return plain("document_type", description, types[0], `^(${types.join("|")})$`);
}

function account(length_min: number, length_max: number, example: string): FieldRule {
  const description = `the account number of ${length_min} to ${length_max} letters or digits`;
  // Only zeros or only letters are no account.
  const pattern = `^(?=[0A-Za-z]*[1-9])[0-9A-Za-z]{${length_min},${length_max}}$`;
  return plain("account_number", description, example, pattern);
}

function rib(check: IdentifierCheck, description: string, example: string): FieldRule {
  return identifier("rib_number", check, description, example);
}

function identifier(
  name: FieldName,
  check: IdentifierCheck,
  description: string,
  example: string,
): FieldRule {
  return { name, pattern: IDENTIFIERS[check].form.source, check, description, example };
}

function plain(
  name: FieldName,
  description: string,
  example: string,
  pattern: string | null = null,
): FieldRule {
  return { name, pattern, check: null, description, example };
}
