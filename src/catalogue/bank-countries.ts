import type { PayoutCurrency, Rail } from "./rails.ts";

/**
 * The countries and territories in the geographical scope of the SEPA schemes (EPC409-09, as of
 * 2026-11-15: Albania and Montenegro since 2024-11, Moldova and North Macedonia since 2025-03,
 * Serbia since 2025-05). Check the list whenever the EPC publishes a new one.
 *
 * New Caledonia, French Polynesia and Wallis and Futuna have French IBANs but are outside.
 */
const SEPA_AREA: readonly string[] = [
  // The European Union.
  ...["DE", "AT", "BE", "BG", "CY", "CZ", "DK", "EE", "ES", "FI", "FR", "GR", "HR", "HU", "IE"],
  ...["IT", "LT", "LU", "LV", "MT", "NL", "PL", "PT", "RO", "SE", "SI", "SK"],
  // The other states.
  ...["AD", "AL", "CH", "GB", "IS", "LI", "MC", "MD", "ME", "MK", "NO", "RS", "SM", "VA"],
  // Territories; most use the IBANs of their state and have their own BICs.
  ...["AX", "BL", "GF", "GG", "GI", "GP", "IM", "JE", "MF", "MQ", "PM", "RE", "YT"],
];

/** Territories whose banks have their own BICs and the IBANs of a state (IBAN registry). */
const IBAN_STATE: Readonly<Record<string, string>> = {
  ...{ AX: "FI", GG: "GB", IM: "GB", JE: "GB", SJ: "NO" },
  ...{ BL: "FR", GF: "FR", GP: "FR", MF: "FR", MQ: "FR", NC: "FR", PF: "FR", PM: "FR" },
  ...{ RE: "FR", TF: "FR", WF: "FR", YT: "FR" },
};

/** The first two letters of the IBANs of a country's banks, if it has IBANs. */
export function ibanCountryOf(country: string): string {
  return Object.hasOwn(IBAN_STATE, country) ? IBAN_STATE[country]! : country;
}

/**
 * Where an account in a currency may be held. usd, eur and gbp accounts exist everywhere, so they
 * have a row only for the rails of one scheme; every other currency is paid to its own countries.
 * The examples use the first country of a row.
 */
const BANK_COUNTRIES: Readonly<Record<PayoutCurrency, readonly string[] | null>> = {
  ...{ usd: null, eur: null, gbp: null },
  ...{ aed: ["AE"], ars: ["AR"], aud: ["AU"], bob: ["BO"], brl: ["BR"], cad: ["CA"] },
  ...{ chf: ["CH", "LI"], clp: ["CL"], cny: ["CN", "HK", "MO"], cop: ["CO"], crc: ["CR"] },
  ...{ czk: ["CZ"], dkk: ["DK", "FO", "GL"], dop: ["DO"], dzd: ["DZ"], egp: ["EG"], ghs: ["GH"] },
  ...{ gtq: ["GT"], hkd: ["HK"], hnl: ["HN"], idr: ["ID"], ils: ["IL", "PS"], inr: ["IN"] },
  ...{ jpy: ["JP"], kes: ["KE"], krw: ["KR"], mad: ["MA"], mxn: ["MX"], myr: ["MY"] },
  ...{ mzn: ["MZ"], ngn: ["NG"], nok: ["NO", "SJ"], nzd: ["NZ"], pen: ["PE"], php: ["PH"] },
  ...{ pln: ["PL"], pyg: ["PY"], ron: ["RO"], sek: ["SE"], sgd: ["SG"], thb: ["TH"] },
  ...{ tnd: ["TN"], try: ["TR"], ugx: ["UG"], uyu: ["UY"], vnd: ["VN"], zar: ["ZA"] },
  xaf: ["CM", "CF", "CG", "GA", "GQ", "TD"],
  xof: ["SN", "BF", "BJ", "CI", "GW", "ML", "NE", "TG"],
};

const US_BANKS = ["US", "AS", "GU", "MP", "PR", "VI"];

const RAIL_BANK_COUNTRIES: Readonly<
  Partial<Record<PayoutCurrency, Readonly<Partial<Record<Rail, readonly string[]>>>>>
> = {
  usd: { local: US_BANKS, wire: US_BANKS },
  eur: { local: SEPA_AREA },
  gbp: { local: ["GB", "GG", "IM", "JE"] },
};

/** The countries of the banks that a rail pays a currency to; null means all. */
export function bankCountriesOf(currency: PayoutCurrency, rail: Rail): readonly string[] | null {
  return RAIL_BANK_COUNTRIES[currency]?.[rail] ?? BANK_COUNTRIES[currency];
}

/** The examples of the IBAN registry, for the countries that need an IBAN. */
const EXAMPLE_IBANS: Readonly<Record<string, string>> = {
  AE: "AE070331234567890123456",
  CH: "CH9300762011623852957",
  CZ: "CZ6508000000192000145399",
  DE: "DE89370400440532013000",
  DK: "DK5000400440116243",
  EG: "EG380019000500000000263180002",
  GB: "GB29NWBK60161331926819",
  IL: "IL620108000000099999999",
  NO: "NO9386011117947",
  PL: "PL61109010140000071219812874",
  RO: "RO49AAAA1B31007593840000",
  SE: "SE4550000000058398257466",
  TR: "TR330006100519786457841326",
};

const EXAMPLE_COUNTRY = "DE";

export function exampleIban(bank_countries: readonly string[] | null): string {
  const country = bank_countries?.[0] ?? EXAMPLE_COUNTRY;
  return EXAMPLE_IBANS[country] ?? EXAMPLE_IBANS[EXAMPLE_COUNTRY]!;
}

export function exampleBic(bank_countries: readonly string[] | null): string {
  return `BANK${bank_countries?.[0] ?? EXAMPLE_COUNTRY}22`;
}
