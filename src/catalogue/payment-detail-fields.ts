/**
 * Every text field of a payment detail and its maximum length in characters as sent. The limits of
 * names and postal addresses follow ISO 20022 (140 for a name, 70 for a line, doubled here because
 * callers put street and number, or a long institution, into one line).
 */
export const FIELD_LENGTHS = {
  account_name: 140,
  currency: 20,
  beneficiary_type: 20,
  bank_name: 140,
  address_line1: 140,
  address_line2: 140,
  city: 100,
  state: 100,
  postal_code: 20,
  country: 20,
  rails: 20,
  date_of_birth: 20,
  account_number: 50,
  routing_number: 20,
  rib_number: 50,
  iban: 50,
  swift_bic: 20,
  sort_code: 20,
  bsb_number: 20,
  bank_code: 50,
  branch_code: 50,
  ncc: 50,
  ifsc: 20,
  account_type: 20,
  document_type: 50,
  document_number: 50,
  company_number: 50,
  phone: 40,
  neighbourhood: 140,
  activity: 140,
  nationality: 20,
  gender: 20,
} as const satisfies Record<string, number>;

export type FieldName = keyof typeof FIELD_LENGTHS;

export const FIELD_NAMES = Object.keys(FIELD_LENGTHS) as FieldName[];

/** The fields that identify an account. Every account has one of them, whatever its currency. */
export const ACCOUNT_IDENTIFIERS = ["iban", "account_number", "rib_number"] as const;

/** The bank itself or a branch, by the codes of its country. */
export const BANK_CODES = [
  ...(["routing_number", "sort_code", "bsb_number", "bank_code"] as const),
  ...(["branch_code", "ncc", "ifsc"] as const),
];

export const BANK_IDENTIFIERS = ["swift_bic", ...BANK_CODES] as const;

/** Fields with a fixed set of values: a long one is a wrong value, not a long text. */
export const WORD_FIELDS: ReadonlySet<FieldName> = new Set([
  ...(["currency", "beneficiary_type", "country", "rails", "date_of_birth"] as const),
  ...(["account_type", "nationality", "gender"] as const),
]);

export const BENEFICIARY_TYPES = ["individual", "business"] as const;
export type BeneficiaryType = (typeof BENEFICIARY_TYPES)[number];

export const ACCOUNT_TYPES = ["checking", "savings"] as const;
export const GENDERS = ["o", "m", "f"] as const;

export function isFieldName(name: string): name is FieldName {
  return Object.hasOwn(FIELD_LENGTHS, name);
}

/** When a field is required, whatever the currency and the rail. */
type GeneralNeed = "always" | "if_individual" | "if_united_states" | "never";

export type GeneralField = {
  name: FieldName;
  needed: GeneralNeed;
  pattern: string | null;
  check: string | null;
  description: string;
  example: string;
};

/** The interface's table without the account identifiers, in display order. */
export const GENERAL_FIELDS: readonly GeneralField[] = [
  general(
    "account_name",
    "always",
    "the account holder's name, exactly as registered at the bank",
    {
      example: "Maria Sample",
    },
  ),
  general("currency", "always", "the currency that the account accepts", {
    pattern: "^[a-z]{3}$",
    check: "iso_4217",
    example: "eur",
  }),
  general("rails", "never", "the payment rail; default local", {
    pattern: "^(local|swift|wire)$",
    example: "local",
  }),
  general("beneficiary_type", "always", "individual or business", {
    pattern: "^(individual|business)$",
    example: "individual",
  }),
  general("bank_name", "always", "the bank's name", { example: "Sample Bank" }),
  general("address_line1", "always", "first address line of the account holder", {
    example: "12 Sample Street",
  }),
  general("address_line2", "never", "second address line", { example: "Flat 3" }),
  general("city", "always", "city of the account holder", { example: "Lisbon" }),
  general("state", "if_united_states", "state; required if country is US", { example: "NY" }),
  general("postal_code", "always", "postal or zip code", { example: "1100-148" }),
  general("country", "always", "the account holder's country", {
    pattern: "^[A-Z]{2}$",
    check: "iso_3166_1",
    example: "PT",
  }),
  general("date_of_birth", "if_individual", "date of birth as DD/MM/YYYY or YYYY-MM-DD", {
    check: "past_date",
    example: "21/04/1988",
  }),
];

function general(
  name: FieldName,
  needed: GeneralNeed,
  description: string,
  rest: { pattern?: string; check?: string; example: string },
): GeneralField {
  return { name, needed, pattern: null, check: null, description, ...rest };
}
