import { countrySpecs, ValidationErrorsIBAN, validateIBAN } from "ibantools";
import type { Parsed } from "../platform/problems.ts";
import { isCountry } from "./countries.ts";
import { compact, upperAscii } from "./text.ts";

type Identifier = {
  /** Without spaces and hyphens, letters in upper case. */
  form: RegExp;
  /** What to send if the form is wrong. */
  advice: string;
  /** What is publicly known about a number of this form, and the reason to refuse it otherwise. */
  rules?: readonly (readonly [holds: (value: string) => boolean, reason: string])[];
};

const NOT_ZERO = [
  (value: string) => /[1-9]/.test(value),
  "Only zeros identify no account; check the number.",
] as const;

/** The identifiers that a field of the requirements table can name as its check. */
export const IDENTIFIERS = {
  /** Country, length and structure from the IBAN registry, and mod 97. */
  iban: {
    form: /^[A-Z]{2}\d{2}[A-Z0-9]{8,30}$/,
    advice: "Send an IBAN: two letters, two digits, then the account, e.g. DE89 3704 …",
    rules: [
      ibanRule(
        "NoIBANCountry",
        "The first two letters are not a country that uses IBANs; check the IBAN.",
      ),
      ibanRule("WrongBBANLength", "The IBAN has the wrong length for its country; check it."),
      ibanRule("WrongBBANFormat", "The IBAN does not have its country's format; check it."),
      ibanRule("ChecksumNotNumber", "The third and fourth character must be digits."),
      ibanRule("WrongIBANChecksum", mismatch("IBAN")),
    ],
  },
  /** ISO 9362: four letters, a country (Kosovo's XK is used though not assigned), 2 or 5 more. */
  bic: {
    form: /^[A-Z]{6}[A-Z0-9]{2}([A-Z0-9]{3})?$/,
    advice: "Send a BIC of 8 or 11 characters, e.g. DEUTDEFF.",
    rules: [
      [
        (value) => isCountry(value.slice(4, 6)) || value.slice(4, 6) === "XK",
        "Letters 5 and 6 of the BIC must be a country code; check the BIC.",
      ],
    ],
  },
  /** ABA: weights 3, 7, 1 and mod 10. The first two digits identify a Federal Reserve district. */
  aba: {
    form: /^\d{9}$/,
    advice: "Send the ABA routing number of 9 digits.",
    rules: [
      [
        (value) =>
          /^(0\d|1[0-2]|2[1-9]|3[0-2]|6[1-9]|7[0-2]|80)/.test(value) && /[1-9]/.test(value),
        "No routing number starts with these digits; check it for a typo.",
      ],
      [(value) => weightedSum(value, [3, 7, 1]) % 10 === 0, mismatch("routing number")],
    ],
  },
  /** Format only: a check of the account needs tables that Vocalink changes every month. */
  sort_code: {
    form: /^\d{6}$/,
    advice: "Send the sort code as 6 digits, e.g. 20-00-00.",
    rules: [NOT_ZERO],
  },
  uk_account: {
    form: /^\d{8}$/,
    advice: "Send the UK account number of 8 digits; pad a shorter one with leading zeros.",
    rules: [NOT_ZERO],
  },
  /** Mexico: 17 digits weighted 3, 7, 1, each product mod 10, and one check digit. */
  clabe: {
    form: /^\d{18}$/,
    advice: "Send the CLABE of 18 digits.",
    rules: [NOT_ZERO, [(value) => hasCheckDigit(value, [3, 7, 1]), mismatch("CLABE")]],
  },
  /** Argentina's CBU and CVU: bank and branch with a check digit, account with a check digit. */
  cbu: {
    form: /^\d{22}$/,
    advice: "Send the CBU or CVU of 22 digits.",
    rules: [
      NOT_ZERO,
      [(value) => hasCheckDigit(value.slice(0, 8), [7, 1, 3, 9]), mismatch("CBU")],
      [(value) => hasCheckDigit(value.slice(8), [3, 9, 7, 1]), mismatch("CBU")],
    ],
  },
  /** India: bank, a reserved zero, branch. It has no check digit. */
  ifsc: {
    form: /^[A-Z]{4}0[A-Z0-9]{6}$/,
    advice: "Send the IFSC: four letters, a zero, six letters or digits, e.g. HDFC0000001.",
  },
  /** Australia: bank, state and branch. It has no check digit. */
  bsb: {
    form: /^\d{6}$/,
    advice: "Send the BSB as 6 digits, e.g. 062-000.",
    rules: [NOT_ZERO],
  },
  /** Morocco: bank 3, town 3, account 16, key 2. */
  rib_ma: {
    form: /^\d{24}$/,
    advice: "Send the Moroccan RIB of 24 digits.",
    rules: [[hasRibKey, mismatch("RIB")]],
  },
  /** Tunisia: bank 2, branch 3, account 13, key 2. */
  rib_tn: {
    form: /^\d{20}$/,
    advice: "Send the Tunisian RIB of 20 digits.",
    rules: [[hasRibKey, mismatch("RIB")]],
  },
  /**
   * Algeria (instruction 06-2004 of the Bank of Algeria): bank 3, branch 5, account 10, key 2. The
   * key covers branch and account only, so a mistyped bank code is not detected.
   */
  rib_dz: {
    form: /^\d{20}$/,
    advice: "Send the Algerian RIB of 20 digits.",
    rules: [[(value) => hasRibKey(value.slice(3)), mismatch("RIB")]],
  },
  /**
   * CFA franc: bank 5, branch 5, account 11 (Central Africa) or 12 (West Africa), key 2. The key of
   * the one with a zero after it is also right for the other, so each has its own length.
   */
  rib_cemac: {
    form: /^[A-Z0-9]{5}\d{5}[A-Z0-9]{11}\d{2}$/,
    advice: "Send the RIB of 23 letters and digits: bank, branch, account and key.",
    rules: [[hasRibKey, mismatch("RIB")]],
  },
  rib_uemoa: {
    form: /^[A-Z0-9]{5}\d{5}[A-Z0-9]{12}\d{2}$/,
    advice: "Send the RIB of 24 letters and digits: bank, branch, account and key.",
    rules: [[hasRibKey, mismatch("RIB")]],
  },
} as const satisfies Record<string, Identifier>;

export type IdentifierCheck = keyof typeof IDENTIFIERS;

/** Removes spaces and hyphens, and checks what is publicly known about such a number. */
export function checkIdentifier(check: IdentifierCheck, text: string): Parsed<string> {
  const { form, advice, rules = [] }: Identifier = IDENTIFIERS[check];
  const value = upperAscii(compact(text));
  if (!form.test(value)) return { reason: advice };
  const broken = rules.find(([holds]) => !holds(value));
  return broken ? { reason: broken[1] } : { value };
}

type NationalForm = { check: IdentifierCheck; account: readonly [from: number, to: number] };

const CEMAC_RIB: NationalForm = { check: "rib_cemac", account: [10, -2] };
const UEMOA_RIB: NationalForm = { check: "rib_uemoa", account: [10, -2] };

/** Where the account's own number stands in a country's long form of it. */
const NATIONAL_FORMS: Readonly<Record<string, NationalForm>> = {
  MX: { check: "clabe", account: [6, 17] },
  AR: { check: "cbu", account: [8, 21] },
  MA: { check: "rib_ma", account: [6, 22] },
  TN: { check: "rib_tn", account: [5, 18] },
  DZ: { check: "rib_dz", account: [8, 18] },
  ...byCountry(["CM", "CF", "CG", "GA", "GQ", "TD"], CEMAC_RIB),
  ...byCountry(["SN", "BF", "BJ", "CI", "GW", "ML", "NE", "TG"], UEMOA_RIB),
};

function byCountry(countries: readonly string[], form: NationalForm) {
  return Object.fromEntries(countries.map((country) => [country, form]));
}

/** From and to, in an IBAN without country and check digits. */
const COMMON_RIB = [10, 21] as const;
const PORTUGUESE = [8, 19] as const;

/**
 * Where the account's own number stands in IBANs that have national check digits, or more, beside
 * it (the structures of the IBAN registry). In the others it follows bank and branch to the end.
 */
const ACCOUNTS_IN_IBANS: Readonly<Record<string, readonly [from: number, to: number]>> = {
  BA: [6, 14],
  BE: [3, 10],
  BR: [13, 23],
  DJ: COMMON_RIB,
  EE: [4, 15],
  ES: [10, 20],
  FR: COMMON_RIB,
  MC: COMMON_RIB,
  ME: [3, 16],
  MK: [3, 13],
  MR: COMMON_RIB,
  NO: [4, 10],
  PT: PORTUGUESE,
  RS: [3, 16],
  SI: [5, 13],
  ST: PORTUGUESE,
  TL: [3, 17],
  XK: [4, 14],
};

/**
 * The number of an account at its bank, in one spelling: without the bank, the branch, check digits
 * and leading zeros, so that an IBAN, a RIB and the plain number of the same account are equal.
 * Signs do not count, nor letters before or after a number, such as a currency. `country` is the
 * bank's, where the identifier itself does not name one.
 */
export function accountNumberIn(identifier: string, country: string | null): string {
  const value = upperAscii(identifier).replace(/[^0-9A-Z]+/g, "");
  const iban = ibanIn(value);
  const number = iban
    ? withoutBank(iban.slice(0, 2), iban.slice(4))
    : withoutBank(country ?? "", value);
  return ownNumber(country, withoutWords(number)).replace(/^0+(?=.)/, "");
}

/**
 * In countries without a check: the number that a customer has at a branch, in digits. Codes of
 * bank and branch may stand before it, and zeros before those. Where its length varies, so much of
 * its end counts as every form has: two customers rarely share it, and then only a limit.
 */
const OWN_NUMBERS: Readonly<Record<string, (digits: string) => string>> = {
  // A BSB of six digits, never two zeros first; the number has at most ten.
  AU: (digits) => (/^(?!00)\d{12,}$/.test(digits) ? digits.slice(6) : digits),
  // Institution and transit in either order, or the transit alone.
  CA: (digits) => digits.slice(-7),
  HK: (digits) => digits.slice(-9),
  JP: (digits) => digits.slice(-7),
  NZ: withoutSuffix,
  // A CCI is bank 3, branch 3, account 12 and two check digits, with 0 first but never 000.
  PE: (digits) => (/^0(?!00)\d{19}$/.test(digits) ? digits.slice(0, 18) : digits).slice(-10),
};

function ownNumber(country: string | null, number: string): string {
  const is_known = country !== null && Object.hasOwn(OWN_NUMBERS, country);
  return is_known && /^\d+$/.test(number) ? OWN_NUMBERS[country]!(number) : number;
}

/** In New Zealand a suffix follows the number: several accounts of one customer. */
function withoutSuffix(digits: string): string {
  // Two digits of the bank, four of the branch, seven or eight, and two to four of the suffix.
  const own = digits.length < 13 ? digits : digits.slice(6);
  return own.slice(0, own.length === 9 || own.length === 10 ? 7 : 8);
}

/** The IBAN that a text is, or begins with before letters such as a currency. */
function ibanIn(value: string): string | null {
  const candidates = [value, withoutLastLetters(value)];
  return candidates.find((text) => "value" in checkIdentifier("iban", text)) ?? null;
}

/** Without letters at both ends; a number that has no digit stays. */
function withoutWords(value: string): string {
  const from = value.search(/\d/);
  return from === -1 ? value : withoutLastLetters(value.slice(from));
}

function withoutLastLetters(text: string): string {
  const last = [...text].findLastIndex((sign) => sign < "A" || sign > "Z");
  return text.slice(0, last + 1);
}

function withoutBank(country: string, value: string): string {
  const national = Object.hasOwn(NATIONAL_FORMS, country) ? NATIONAL_FORMS[country] : undefined;
  if (national && "value" in checkIdentifier(national.check, value)) {
    return value.slice(...national.account);
  }
  const form = Object.hasOwn(countrySpecs, country) ? countrySpecs[country] : undefined;
  // Britain and others write the number without the letters of the bank, such as NWBK.
  const bban = [value, `AAAA${value}`].find(
    (text) => form?.bban_regexp && new RegExp(form.bban_regexp).test(text),
  );
  if (!form || bban === undefined) return value;
  const place = Object.hasOwn(ACCOUNTS_IN_IBANS, country) ? ACCOUNTS_IN_IBANS[country] : undefined;
  if (place) return bban.slice(...place);
  // The positions of bank and branch in the IBAN registry, such as "4-9".
  const ends = [form.bank_identifier, form.branch_indentifier].flatMap((positions) =>
    positions ? [Number(positions.split("-")[1]) + 1] : [],
  );
  return bban.slice(Math.max(0, ...ends));
}

/**
 * The library can also check national check digits inside some IBANs; they are not part of the
 * standard, so they are ignored.
 */
function ibanRule(fault: keyof typeof ValidationErrorsIBAN, reason: string) {
  const holds = (value: string) =>
    !validateIBAN(value).errorCodes.includes(ValidationErrorsIBAN[fault]);
  return [holds, reason] as const;
}

/**
 * The key is 97 − (number × 100 mod 97), so 01 to 97: 00 is wrong although it is congruent.
 * Letters, such as the country in a West African bank code, count as digits of the French RIB.
 */
function hasRibKey(value: string): boolean {
  const digits = value.replace(/[A-Z]/g, (letter) => ribDigit(letter));
  const remainder = Number(BigInt(`${digits.slice(0, -2)}00`) % 97n);
  return Number(digits.slice(-2)) === 97 - remainder;
}

/** A to I are 1 to 9, J to R 1 to 9, but S to Z 2 to 9. */
function ribDigit(letter: string): string {
  return "12345678912345678923456789"[letter.charCodeAt(0) - 65]!;
}

function hasCheckDigit(digits: string, weights: readonly number[]): boolean {
  const sum = weightedSum(digits.slice(0, -1), weights);
  return Number(digits.at(-1)) === (10 - (sum % 10)) % 10;
}

/** The weights repeat from the left. */
function weightedSum(digits: string, weights: readonly number[]): number {
  let sum = 0;
  for (const [index, digit] of [...digits].entries()) {
    sum += Number(digit) * weights[index % weights.length]!;
  }
  return sum;
}

function mismatch(name: string): string {
  return `The check digits do not match; check the ${name} for a typo.`;
}
