import { ValidationErrorsIBAN, validateIBAN } from "ibantools";
import type { Parsed } from "../platform/problems.ts";
import { isCountry } from "./countries.ts";
import { compact, upperAscii } from "./text.ts";

/**
 * The checks that a field of the requirements table can name. Each removes spaces and hyphens from
 * the input and checks what is publicly known about that number.
 */
export const IDENTIFIER_CHECKS = {
  iban: checkIban,
  bic: checkBic,
  aba: checkRoutingNumber,
  sort_code: checkSortCode,
  uk_account: checkUkAccountNumber,
  clabe: checkClabe,
  cbu: checkCbu,
  ifsc: checkIfsc,
  bsb: checkBsb,
  rib_ma: checkMoroccanRib,
  rib_tn: checkTunisianRib,
  rib_dz: checkAlgerianRib,
  rib_cfa: checkCfaRib,
} as const satisfies Record<string, (text: string) => Parsed<string>>;

export type IdentifierCheck = keyof typeof IDENTIFIER_CHECKS;

/**
 * Country, length and structure from the IBAN registry, and mod 97. The library can also check
 * national check digits inside some IBANs; they are not part of the standard, so they are ignored.
 */
export function checkIban(text: string): Parsed<string> {
  const value = upperAscii(compact(text));
  if (!/^[A-Z]{2}[0-9]{2}[A-Z0-9]{8,30}$/.test(value)) {
    return refused("Send an IBAN: two letters, two digits, then the account, e.g. DE89 3704 …");
  }
  const { errorCodes } = validateIBAN(value);
  const reasons: [ValidationErrorsIBAN, string][] = [
    [
      ValidationErrorsIBAN.NoIBANCountry,
      "The first two letters are not a country that uses IBANs; check the IBAN.",
    ],
    [
      ValidationErrorsIBAN.WrongBBANLength,
      "The IBAN has the wrong length for its country; check it.",
    ],
    [
      ValidationErrorsIBAN.WrongBBANFormat,
      "The IBAN does not have its country's format; check it.",
    ],
    [ValidationErrorsIBAN.ChecksumNotNumber, "The third and fourth character must be digits."],
    [ValidationErrorsIBAN.WrongIBANChecksum, mismatch("IBAN")],
  ];
  const reason = reasons.find(([code]) => errorCodes.includes(code));
  return reason ? refused(reason[1]) : accepted(value);
}

/** ISO 9362: four letters, a country (Kosovo's XK is used though not assigned), 2 or 5 more. */
export function checkBic(text: string): Parsed<string> {
  const value = upperAscii(compact(text));
  if (!/^[A-Z]{6}[A-Z0-9]{2}([A-Z0-9]{3})?$/.test(value)) {
    return refused("Send a BIC of 8 or 11 characters, e.g. DEUTDEFF.");
  }
  const country = value.slice(4, 6);
  if (!isCountry(country) && country !== "XK") {
    return refused("Letters 5 and 6 of the BIC must be a country code; check the BIC.");
  }
  return accepted(value);
}

/** ABA: weights 3, 7, 1 and mod 10. The first two digits identify a Federal Reserve district. */
export function checkRoutingNumber(text: string): Parsed<string> {
  const value = compact(text);
  if (!/^\d{9}$/.test(value)) return refused("Send the ABA routing number of 9 digits.");
  const district = Number(value.slice(0, 2));
  const is_assigned = [
    [0, 12],
    [21, 32],
    [61, 72],
    [80, 80],
  ].some(([from, to]) => district >= from! && district <= to!);
  if (!is_assigned || /^0+$/.test(value)) {
    return refused("No routing number starts with these digits; check it for a typo.");
  }
  if (weightedSum(value, [3, 7, 1]) % 10 !== 0) return refused(mismatch("routing number"));
  return accepted(value);
}

/** Format only: a check of the account needs tables that Vocalink changes every month. */
export function checkSortCode(text: string): Parsed<string> {
  const value = compact(text);
  return /^\d{6}$/.test(value)
    ? accepted(value)
    : refused("Send the sort code as 6 digits, e.g. 20-00-00.");
}

export function checkUkAccountNumber(text: string): Parsed<string> {
  const value = compact(text);
  return /^\d{8}$/.test(value)
    ? accepted(value)
    : refused("Send the UK account number of 8 digits; pad a shorter one with leading zeros.");
}

/** Mexico: 17 digits weighted 3, 7, 1, each product mod 10, and one check digit. */
export function checkClabe(text: string): Parsed<string> {
  const value = compact(text);
  if (!/^\d{18}$/.test(value)) return refused("Send the CLABE of 18 digits.");
  return hasCheckDigit(value, [3, 7, 1]) ? accepted(value) : refused(mismatch("CLABE"));
}

/** Argentina's CBU and CVU: bank and branch with a check digit, account with a check digit. */
export function checkCbu(text: string): Parsed<string> {
  const value = compact(text);
  if (!/^\d{22}$/.test(value)) return refused("Send the CBU or CVU of 22 digits.");
  const is_right =
    hasCheckDigit(value.slice(0, 8), [7, 1, 3, 9]) && hasCheckDigit(value.slice(8), [3, 9, 7, 1]);
  return is_right ? accepted(value) : refused(mismatch("CBU"));
}

/** India: bank, a reserved zero, branch. It has no check digit. */
export function checkIfsc(text: string): Parsed<string> {
  const value = upperAscii(compact(text));
  return /^[A-Z]{4}0[A-Z0-9]{6}$/.test(value)
    ? accepted(value)
    : refused("Send the IFSC: four letters, a zero, six letters or digits, e.g. HDFC0000001.");
}

/** Australia: bank, state and branch. It has no check digit. */
export function checkBsb(text: string): Parsed<string> {
  const value = compact(text);
  return /^\d{6}$/.test(value)
    ? accepted(value)
    : refused("Send the BSB as 6 digits, e.g. 062-000.");
}

/** Morocco: bank 3, town 3, account 16, key 2. */
export function checkMoroccanRib(text: string): Parsed<string> {
  const value = compact(text);
  if (!/^\d{24}$/.test(value)) return refused("Send the Moroccan RIB of 24 digits.");
  return hasRibKey(value) ? accepted(value) : refused(mismatch("RIB"));
}

/** Tunisia: bank 2, branch 3, account 13, key 2. */
export function checkTunisianRib(text: string): Parsed<string> {
  const value = compact(text);
  if (!/^\d{20}$/.test(value)) return refused("Send the Tunisian RIB of 20 digits.");
  return hasRibKey(value) ? accepted(value) : refused(mismatch("RIB"));
}

/**
 * Algeria (instruction 06-2004 of the Bank of Algeria): bank 3, branch 5, account 10, key 2. The
 * key covers branch and account only, so a mistyped bank code is not detected.
 */
export function checkAlgerianRib(text: string): Parsed<string> {
  const value = compact(text);
  if (!/^\d{20}$/.test(value)) return refused("Send the Algerian RIB of 20 digits.");
  return hasRibKey(value.slice(3)) ? accepted(value) : refused(mismatch("RIB"));
}

/**
 * CFA franc: bank 5, branch 5, account 11 (Central Africa) or 12 (West Africa), key 2. Letters,
 * such as the country in a West African bank code, count as the digits of the French RIB.
 */
export function checkCfaRib(text: string): Parsed<string> {
  const value = upperAscii(compact(text));
  if (!/^[A-Z0-9]{5}\d{5}[A-Z0-9]{11,12}\d{2}$/.test(value)) {
    return refused("Send the RIB of 23 or 24 letters and digits: bank, branch, account and key.");
  }
  const digits = value.replace(/[A-Z]/g, (letter) => RIB_DIGITS[letter.charCodeAt(0) - 65]!);
  return hasRibKey(digits) ? accepted(value) : refused(mismatch("RIB"));
}

// A to I are 1 to 9, J to R 1 to 9, but S to Z 2 to 9.
const RIB_DIGITS = "12345678912345678923456789";

/** The key is 97 − (number × 100 mod 97), so 01 to 97: 00 is wrong although it is congruent. */
function hasRibKey(digits: string): boolean {
  const remainder = Number(BigInt(`${digits.slice(0, -2)}00`) % 97n);
  return Number(digits.slice(-2)) === 97 - remainder;
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

function accepted(value: string): Parsed<string> {
  return { value };
}

function refused(reason: string): Parsed<string> {
  return { reason };
}
