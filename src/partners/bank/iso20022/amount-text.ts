import { CURRENCIES } from "../../../catalogue/currencies.ts";
import { powerOfTen } from "../../../platform/money.ts";

/**
 * The schemas allow 18 digits in all, and 5 after the point. A number may lack the digits on one
 * side of the point, have zeros at both ends, and a plus sign: banks write all of these.
 */
const AMOUNT = /^\+?(?=\.?\d)(\d{0,30})(?:\.(\d{0,30}))?$/;
const DIGITS_MAX = 18;
const SUM_SCALE = 5;
const SUM_DECIMALS_MIN = 2;

/** An amount with as many decimals as its currency has: "12.50", "1250" for yen, "1.250" dinars. */
export function formatAmount(minor: bigint, currency: string): string {
  return formatUnits(minor, digitsOf(currency));
}

/** Whether the schemas can carry an amount. */
export function isWritableAmount(minor: bigint): boolean {
  return minor > 0n && String(minor).length <= DIGITS_MAX;
}

/**
 * Minor units of a bank's amount. Undefined if it is not a plain number, or has a fraction that the
 * currency does not have: nothing is rounded.
 */
export function parseAmount(text: string, currency: string): bigint | undefined {
  const digits = CURRENCIES.get(currency)?.minor_digits;
  const match = AMOUNT.exec(text);
  if (digits === undefined || !match) return undefined;
  const [, whole = "", decimals = ""] = match;
  if (/[1-9]/.test(decimals.slice(digits))) return undefined;
  const minor = BigInt(whole + decimals.slice(0, digits).padEnd(digits, "0"));
  return String(minor).length <= DIGITS_MAX ? minor : undefined;
}

/** Sums amounts as ISO 20022 does: as plain numbers, whatever their currencies. */
export class ControlSum {
  #units = 0n;
  count = 0;

  add(minor: bigint, currency: string): void {
    this.addSum(minor, currency, 1);
  }

  /** Several amounts of one currency at once. */
  addSum(minor: bigint, currency: string, count: number): void {
    this.#units += minor * powerOfTen(SUM_SCALE - digitsOf(currency));
    this.count += count;
  }

  /** With two decimals, and more where a currency has more. */
  toString(): string {
    const text = formatUnits(this.#units, SUM_SCALE);
    let end = text.length;
    const shortest = end - SUM_SCALE + SUM_DECIMALS_MIN;
    while (end > shortest && text[end - 1] === "0") end -= 1;
    return text.slice(0, end);
  }
}

function formatUnits(units: bigint, scale: number): string {
  if (units < 0n) throw new RangeError("an amount in a bank file is never negative");
  const digits = String(units).padStart(scale + 1, "0");
  return scale === 0 ? digits : `${digits.slice(0, -scale)}.${digits.slice(-scale)}`;
}

function digitsOf(currency: string): number {
  const found = CURRENCIES.get(currency);
  if (!found) throw new RangeError(`no such currency: ${currency}`);
  return found.minor_digits;
}
