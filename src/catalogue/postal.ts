import { iso31661, iso31662 } from "iso-3166";

/** The parts of a postal address in a country. */
type PostalCountry = {
  /** ISO 3166-1 alpha-2. */
  code: string;
  name: string;
  /** Code and name of each state, if addresses contain one; else null. */
  states: readonly (readonly [code: string, name: string])[] | null;
  has_postcode: boolean;
  /** Null if any postcode is accepted. */
  postcode_pattern: string | null;
  postcode_example: string | null;
};

/** Countries whose addresses need a state. */
const WITH_STATES = ["AU", "BR", "CA", "IN", "MX", "MY", "NG", "US"];

/** Countries without postcodes, or where they are rarely used. */
const WITHOUT_POSTCODE: ReadonlySet<string> = new Set([
  ...["AE", "AG", "AO", "AW", "BF", "BI", "BJ", "BO", "BS", "BW", "BZ", "CD", "CF", "CG", "CI"],
  ...["CK", "CM", "CW", "DJ", "DM", "ER", "FJ", "GA", "GD", "GH", "GM", "GQ", "GY", "HK", "JM"],
  ...["KI", "KM", "KN", "KP", "LY", "ML", "MO", "MR", "MW", "NR", "NU", "QA", "RW", "SB", "SC"],
  ...["SL", "SR", "SS", "ST", "SY", "TD", "TG", "TK", "TL", "TO", "TV", "UG", "VU", "YE", "ZW"],
]);

const DIGITS: Readonly<Record<number, string>> = {
  4: "AM AT AU BE BG CH CY DK GE HU LI LU MD MK NO NZ PH SI TN ZA",
  5: "DE DZ EE EG ES FI FR HR ID IT JO KE KR KW MA ME MX MY MC RS SA SM SN TH TR UA UY VA",
  6: "CN CO EC IN KG KZ NG PK RO RU SG TJ UZ VN",
};
const FIRST_DIGITS = "1234567890";

/** Postcode patterns that are more than a number of digits, each with an example. */
const FORMS: Readonly<Record<string, readonly [pattern: string, example: string]>> = {
  BR: ["^\\d{5}-?\\d{3}$", "01310-100"],
  CA: ["^[ABCEGHJ-NPRSTVXY]\\d[ABCEGHJ-NPRSTV-Z] ?\\d[ABCEGHJ-NPRSTV-Z]\\d$", "K1A 0B1"],
  CL: ["^\\d{3}-?\\d{4}$", "8320000"],
  CZ: ["^\\d{3} ?\\d{2}$", "110 00"],
  GB: ["^[A-Z]{1,2}\\d[A-Z\\d]? ?\\d[ABD-HJLNP-UW-Z]{2}$", "SW1A 1AA"],
  GR: ["^\\d{3} ?\\d{2}$", "105 57"],
  IE: ["^[A-Z]\\d[\\dW] ?[A-Z\\d]{4}$", "D02 AF30"],
  IL: ["^\\d{5}(\\d{2})?$", "9614303"],
  JP: ["^\\d{3}-?\\d{4}$", "100-0001"],
  LT: ["^(LT-)?\\d{5}$", "LT-01100"],
  LV: ["^(LV-)?\\d{4}$", "LV-1010"],
  MT: ["^[A-Z]{3} ?\\d{4}$", "VLT 1117"],
  NL: ["^[1-9]\\d{3} ?[A-Z]{2}$", "1012 JS"],
  PL: ["^\\d{2}-\\d{3}$", "00-001"],
  PT: ["^\\d{4}-\\d{3}$", "1100-148"],
  SE: ["^\\d{3} ?\\d{2}$", "111 22"],
  SK: ["^\\d{3} ?\\d{2}$", "811 01"],
  US: ["^\\d{5}(-\\d{4})?$", "94105"],
};

const NAMES = new Intl.DisplayNames("en", { type: "region" });

/** Every country with the parts of its addresses, in alphabetical order of names. */
export const POSTAL_COUNTRIES: readonly PostalCountry[] = iso31661
  .map(({ alpha2 }) => postalCountry(alpha2))
  .sort((a, b) => a.name.localeCompare(b.name, "en"));

const BY_CODE = new Map(POSTAL_COUNTRIES.map((country) => [country.code, country]));

export function findPostalCountry(code: string): PostalCountry | undefined {
  return BY_CODE.get(code);
}

/** The state's code, from its code or name; undefined if the country has no such state. */
export function findState(country: PostalCountry, text: string): string | undefined {
  const wanted = text.toLowerCase();
  return country.states?.find(([code, name]) =>
    [code, name].some((known) => known.toLowerCase() === wanted),
  )?.[0];
}

function postalCountry(code: string): PostalCountry {
  const [postcode_pattern, postcode_example] = FORMS[code] ?? digitsOf(code) ?? [null, null];
  return {
    code,
    name: NAMES.of(code) ?? code,
    states: WITH_STATES.includes(code) ? statesOf(code) : null,
    has_postcode: !WITHOUT_POSTCODE.has(code),
    postcode_pattern,
    postcode_example,
  };
}

function digitsOf(code: string): [string, string] | undefined {
  const found = Object.entries(DIGITS).find(([, codes]) => codes.split(" ").includes(code));
  return found && [`^\\d{${found[0]}}$`, FIRST_DIGITS.slice(0, Number(found[0]))];
}

function statesOf(country: string): [string, string][] {
  return iso31662
    .filter(({ parent }) => parent === country)
    .map(({ code, name }): [string, string] => [code.slice(country.length + 1), name])
    .sort(([, a], [, b]) => a.localeCompare(b, "en"));
}
