import { bankCountriesOf, exampleBic, exampleIban } from "./bank-countries.ts";
import { documentType, type FieldRule, RULES as rules } from "./field-rules.ts";
import type { FieldName } from "./payment-detail-fields.ts";
import type { PayoutCurrency, Rail } from "./rails.ts";

/** What an account needs for one currency and rail, besides the fields that all accounts need. */
export type RailRequirement = {
  /** No public table states these fields; they are what comparable services require. */
  experimental: boolean;
  /** Allowed countries of the account's bank, according to its IBAN and BIC; null means any. */
  bank_countries: readonly string[] | null;
  /**
   * All fields of at least one of these sets are required; the first is the usual one. Every set
   * identifies the account itself.
   */
  alternatives: readonly (readonly FieldRule[])[];
  /** Also required for a beneficiary of that type. */
  individual: readonly FieldRule[];
  business: readonly FieldRule[];
  /** Optional; checked if sent. */
  optional: readonly FieldRule[];
  /** Limits of the rail that are lower than the general ones. */
  length_limits: Readonly<Partial<Record<FieldName, number>>>;
};

export type RequirementsTable = Readonly<
  Record<string, Readonly<Partial<Record<Rail, RailRequirement>>>>
>;

const us_local = need([[rules.routing_number, rules.us_account]], {
  length_limits: { account_name: 35 },
});
const iban_by_swift = { swift: need([[rules.iban, rules.bic]]) };
const untried_iban_by_swift = { swift: { ...iban_by_swift.swift, experimental: true } };
const account_by_swift = { swift: need([[rules.bic, rules.account]]) };
const coded_account_by_swift = { swift: need([[rules.bic, rules.account, rules.bank_code]]) };

// One pattern for each group of countries.
const african_local = {
  local: need([[rules.any_account, rules.bank_code]], { experimental: true }),
};
const latin_american_local = {
  local: need([[rules.any_account, rules.account_type, rules.document_number]], {
    experimental: true,
  }),
};

/** What the one provider that pays Chile and Peru requires about the account's owner. */
const person_fields = [rules.document_number, rules.phone, rules.neighbourhood, rules.activity];
const person_of_the_americas = [rules.american_nationality, rules.gender];

const ROWS: Readonly<Record<PayoutCurrency, RequirementsTable[string]>> = {
  usd: {
    local: us_local,
    wire: us_local,
    swift: need([
      [rules.us_swift_account, rules.bic],
      [rules.us_swift_account, rules.routing_number],
      [rules.iban, rules.bic],
      [rules.iban, rules.routing_number],
    ]),
  },
  eur: {
    local: need([[rules.iban], [rules.iban_as_account_number]], { optional: [rules.bic] }),
    ...iban_by_swift,
  },
  gbp: {
    local: need([[rules.sort_code, rules.uk_account], [rules.iban]], { optional: [rules.bic] }),
    ...iban_by_swift,
  },
  mxn: { local: need([[rules.clabe]]) },
  mad: { local: need([[rules.rib_ma]]), swift: need([[rules.rib_ma, rules.bic]]) },
  tnd: { local: need([[rules.rib_tn]]), swift: need([[rules.rib_tn, rules.bic]]) },
  dzd: { local: need([[rules.rib_dz]]), swift: need([[rules.rib_dz, rules.bic]]) },
  xaf: { swift: need([[rules.rib_cemac]], { experimental: true, optional: [rules.bic] }) },
  xof: { swift: need([[rules.rib_uemoa]], { experimental: true, optional: [rules.bic] }) },

  ars: { local: need([[rules.cbu, rules.account_type, rules.document_number_ars]]) },
  // The public tables of clp and pen have no account number; a bank could not identify the account.
  clp: {
    local: need([[rules.any_account, documentType("rut"), ...person_fields]], {
      experimental: true,
      individual: person_of_the_americas,
    }),
  },
  pen: {
    local: need([[rules.any_account, ...person_fields]], {
      experimental: true,
      individual: [documentType("dni"), ...person_of_the_americas],
      business: [documentType("ruc")],
    }),
  },
  cop: {
    local: need([
      [
        documentType("national_id", "ruc", "passport", "resident_id"),
        rules.document_number_cop,
        rules.phone,
        rules.account,
        rules.account_type,
      ],
    ]),
  },
  brl: {
    local: need([[rules.document_number, rules.any_account, rules.bank_code, rules.branch_code]], {
      experimental: true,
    }),
  },
  bob: latin_american_local,
  crc: latin_american_local,
  dop: latin_american_local,
  gtq: latin_american_local,
  hnl: latin_american_local,
  pyg: latin_american_local,
  uyu: latin_american_local,

  ghs: african_local,
  kes: african_local,
  mzn: african_local,
  ngn: african_local,
  ugx: african_local,
  zar: african_local,

  aed: iban_by_swift,
  chf: iban_by_swift,
  pln: iban_by_swift,
  sek: iban_by_swift,
  czk: untried_iban_by_swift,
  dkk: untried_iban_by_swift,
  egp: untried_iban_by_swift,
  ils: untried_iban_by_swift,
  nok: untried_iban_by_swift,
  ron: untried_iban_by_swift,
  try: untried_iban_by_swift,
  aud: { swift: need([[rules.bic, rules.bsb, rules.account]]) },
  cad: { swift: need([[rules.bic, rules.bank_code, rules.branch_code, rules.account]]) },
  cny: account_by_swift,
  hkd: coded_account_by_swift,
  idr: coded_account_by_swift,
  inr: { swift: need([[rules.bic, rules.bank_code, rules.account, rules.ifsc]]) },
  jpy: account_by_swift,
  krw: coded_account_by_swift,
  myr: account_by_swift,
  nzd: { swift: need([[rules.bic, rules.account, rules.ncc]]) },
  php: account_by_swift,
  sgd: account_by_swift,
  thb: account_by_swift,
  vnd: { swift: { ...account_by_swift.swift, experimental: true } },
};

/**
 * The table behind the validator, `GET /payment_detail_requirements` and
 * docs/reference/payment-details.md. Each row takes its countries from the countries table, and the
 * examples of its IBAN and BIC from the first of them.
 */
export const REQUIREMENTS = Object.fromEntries(
  Object.entries(ROWS).map(([currency, rows]) => [
    currency,
    Object.fromEntries(
      Object.entries(rows).map(([rail, row]) => [
        rail,
        inCountries(row, bankCountriesOf(currency as PayoutCurrency, rail as Rail)),
      ]),
    ),
  ]),
) as Readonly<Record<PayoutCurrency, RequirementsTable[string]>>;

function inCountries(
  row: RailRequirement,
  bank_countries: RailRequirement["bank_countries"],
): RailRequirement {
  const localised = (rule: FieldRule): FieldRule => {
    if (rule.check === "iban") return { ...rule, example: exampleIban(bank_countries) };
    if (rule.check === "bic") return { ...rule, example: exampleBic(bank_countries) };
    return rule;
  };
  return {
    ...row,
    bank_countries,
    alternatives: row.alternatives.map((set) => set.map(localised)),
    optional: row.optional.map(localised),
  };
}

function need(
  alternatives: readonly (readonly FieldRule[])[],
  rest: Partial<RailRequirement> = {},
): RailRequirement {
  return {
    experimental: false,
    bank_countries: null,
    individual: [],
    business: [],
    optional: [],
    length_limits: {},
    ...rest,
    alternatives,
  };
}
