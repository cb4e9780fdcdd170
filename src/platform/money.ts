import type { Parsed } from "./problems.ts";
/**
 * Money without floats. An amount is a BigInt of minor units (cents, millionths of a token); a
 * rate is a Decimal. A JavaScript number is only ever read from its shortest decimal form or
 * written from one, never computed with.
 */

/** `units` / 10 ** `scale`. */
export type Decimal = { readonly units: bigint; readonly scale: number };

/** How a quotient becomes a whole number; named at every call. The denominator is above zero. */
export type Rounding = (numerator: bigint, denominator: bigint) => bigint;

/** A double represents every decimal number of this many digits; no number may have more. */
export const SIGNIFICANT_DIGITS_MAX = 15;
// Always fits into the database's bigint.
const MINOR_MAX = 10n ** 18n - 1n;
const PLAIN_DECIMAL = /^\d+(?:\.\d+)?$/;
/** More than any amount or rate has. To read a decimal of a million digits would take minutes. */
export const DECIMAL_CHARACTERS_MAX = 100;
const NUMBER = /^(-?)(\d+)(?:\.(\d+))?(?:[eE]([+-]?\d+))?$/;

/**
 * Reads an amount from a request: a JSON number or a plain decimal string, above zero, exactly as
 * sent. In a string all decimals count, including zeros: "15.000" euros may mean fifteen thousand.
 * `reason` says what to send instead.
 */
export function parseAmount(value: unknown, digits: number): Parsed<bigint> {
  const is_text = typeof value === "string";
  if (!is_text && !(typeof value === "number" && Number.isFinite(value))) {
    return { reason: "Send a number, or a string of digits with at most one decimal point." };
  }
  if (is_text && value.length > DECIMAL_CHARACTERS_MAX) {
    return { reason: `Send at most ${DECIMAL_CHARACTERS_MAX} characters.` };
  }
  if (is_text && !PLAIN_DECIMAL.test(value)) {
    return {
      reason: "Send digits with at most one decimal point, without sign, exponent or separators.",
    };
  }
  const parts = splitNumber(String(value))!;
  if (parts.negative || parts.digits === "") return { reason: "Send an amount above zero." };
  const decimals = is_text ? (value.split(".")[1]?.length ?? 0) : -parts.exponent;
  if (decimals > digits) {
    const limit = digits === 0 ? "no decimals" : `at most ${digits} decimals`;
    return { reason: `Send ${limit}.` };
  }
  // Zeros before the decimal point count too: they use up digits of the stored amount.
  if (parts.digits.length + Math.max(0, parts.exponent) > SIGNIFICANT_DIGITS_MAX) {
    return { reason: `Send at most ${SIGNIFICANT_DIGITS_MAX} significant digits.` };
  }
  const minor = BigInt(parts.digits) * powerOfTen(parts.exponent + digits);
  return minor > MINOR_MAX ? { reason: "Send a smaller amount." } : { value: minor };
}

/** The plain decimal form without trailing zeros: 150n with two digits is "1.5". */
export function minorToText(minor: bigint, digits: number): string {
  return formatDecimal({ units: minor, scale: digits });
}

/** For a JSON answer. Exact, and never throws up to 15 significant digits. */
export function minorToNumber(minor: bigint, digits: number): number {
  return decimalToNumber({ units: minor, scale: digits });
}

/** Reads a plain decimal text such as "0.9212"; undefined for anything else, or a longer text. */
export function parseDecimal(text: string): Decimal | undefined {
  if (text.length > DECIMAL_CHARACTERS_MAX || !PLAIN_DECIMAL.test(text)) return undefined;
  const [whole, decimals = ""] = text.split(".");
  return trimDecimal({ units: BigInt(whole + decimals), scale: decimals.length });
}

export function formatDecimal(decimal: Decimal): string {
  const { units, scale } = trimDecimal(decimal);
  const sign = units < 0n ? "-" : "";
  const digits = String(units < 0n ? -units : units).padStart(scale + 1, "0");
  if (scale === 0) return sign + digits;
  return `${sign}${digits.slice(0, -scale)}.${digits.slice(-scale)}`;
}

export function decimalToNumber(decimal: Decimal): number {
  const text = formatDecimal(decimal);
  const number = Number(text);
  if (!isSameNumber(text, number)) throw new RangeError("a JSON number cannot hold this amount");
  return number;
}

export function isBelow(a: Decimal, b: Decimal): boolean {
  return a.units * powerOfTen(b.scale) < b.units * powerOfTen(a.scale);
}

/** The quotient of two decimals above zero, truncated to its first significant digits. */
export function divideDecimals(
  dividend: Decimal,
  divisor: Decimal,
  significant_digits: number,
  rounding: Rounding,
): Decimal {
  const numerator = dividend.units * powerOfTen(divisor.scale);
  const denominator = divisor.units * powerOfTen(dividend.scale);
  const whole = numerator / denominator;
  const places =
    whole > 0n
      ? significant_digits - String(whole).length
      : // The quotient is q with 10 ** -zeros > q >= 10 ** -(zeros + 1).
        significant_digits + String((denominator - 1n) / numerator).length - 1;
  if (places <= 0) {
    const unit = powerOfTen(-places);
    return { units: rounding(numerator, denominator * unit) * unit, scale: 0 };
  }
  const units = rounding(numerator * powerOfTen(places), denominator);
  return trimDecimal({ units, scale: places });
}

/** The quotient, rounded to the next whole number above if it is not whole. */
export const roundUp: Rounding = (numerator, denominator) => -roundDown(-numerator, denominator);

/** The quotient, rounded to the next whole number below if it is not whole. */
export const roundDown: Rounding = (numerator, denominator) => {
  if (denominator <= 0n) throw new RangeError("the denominator must be above zero");
  const quotient = numerator / denominator;
  return numerator < quotient * denominator ? quotient - 1n : quotient;
};

/** An amount of `from_digits` times a rate, in minor units of `to_digits`. */
export function multiplyByRate(
  minor: bigint,
  from_digits: number,
  rate: Decimal,
  to_digits: number,
  rounding: Rounding,
): bigint {
  const numerator = minor * rate.units * powerOfTen(to_digits);
  return rounding(numerator, powerOfTen(from_digits + rate.scale));
}

/** An amount of `from_digits` divided by a rate, in minor units of `to_digits`. */
export function divideByRate(
  minor: bigint,
  from_digits: number,
  rate: Decimal,
  to_digits: number,
  rounding: Rounding,
): bigint {
  const numerator = minor * powerOfTen(rate.scale + to_digits);
  return rounding(numerator, rate.units * powerOfTen(from_digits));
}

export function powerOfTen(exponent: number): bigint {
  return 10n ** BigInt(exponent);
}

/** Whether a number is exactly equal to the text of a JSON number. */
export function isSameNumber(text: string, number: number): boolean {
  if (!Number.isFinite(number)) return false;
  const wanted = splitNumber(text);
  const given = splitNumber(String(number))!;
  if (!wanted || wanted.digits !== given.digits) return false;
  // Zero has neither sign nor exponent.
  if (wanted.digits === "") return true;
  return wanted.exponent === given.exponent && wanted.negative === given.negative;
}

type NumberParts = { negative: boolean; digits: string; exponent: number };

/**
 * `digits` × 10 ** `exponent`, without zeros at either end ("" is zero). Works on the text, so that
 * a huge exponent costs no more than its length.
 */
export function splitNumber(text: string): NumberParts | undefined {
  const form = NUMBER.exec(text);
  if (!form) return undefined;
  const [, sign, whole = "", decimals = "", exponent = "0"] = form;
  const all = whole + decimals;
  let first = 0;
  while (all[first] === "0") first += 1;
  let end = all.length;
  while (end > first && all[end - 1] === "0") end -= 1;
  return {
    negative: sign === "-",
    digits: all.slice(first, end),
    exponent: Number(exponent) - decimals.length + (all.length - end),
  };
}

function trimDecimal({ units, scale }: Decimal): Decimal {
  let [trimmed, places] = [units, scale];
  while (places > 0 && trimmed % 10n === 0n) {
    trimmed /= 10n;
    places -= 1;
  }
  return { units: trimmed, scale: places };
}

export function greatest(first: bigint, ...others: bigint[]): bigint {
  return others.reduce((a, b) => (a > b ? a : b), first);
}

export function minOf(first: bigint, ...others: bigint[]): bigint {
  return others.reduce((a, b) => (a < b ? a : b), first);
}
