import { type Decimal, formatDecimal, splitNumber } from "../../platform/money.ts";

/** Rates are stored with this many digits, so that a JSON number represents each exactly. */
export const RATE_DIGITS_MAX = 12;
// No currency is beyond this, and it prevents computing with numbers of a million digits.
const EXPONENT_MAX = 18;
const TIME = /^\d{4}-\d{2}-\d{2}(T\d{2}:\d{2}(:\d{2}(\.\d{1,9})?)?(Z|[+-]\d{2}:\d{2}))?$/;

/** Parses JSON with every number as its original text: a double could change it. */
export function parseExactJson(json_text: string): unknown {
  return JSON.parse(json_text, (_key: string, value: unknown, context?: { source?: string }) =>
    typeof value === "number" ? context!.source! : value,
  );
}

/** A rate above zero; undefined for anything else. */
export function toRate(value: unknown): Decimal | undefined {
  const parts = typeof value === "string" ? splitNumber(value) : undefined;
  if (!parts || parts.negative || parts.digits === "") return undefined;
  const { digits, exponent } = parts;
  if (digits.length > 2 * EXPONENT_MAX || Math.abs(exponent) > 2 * EXPONENT_MAX) return undefined;
  if (digits.length + exponent > EXPONENT_MAX || exponent + digits.length < -EXPONENT_MAX) {
    return undefined;
  }
  const units = BigInt(digits) * 10n ** BigInt(Math.max(0, exponent));
  return { units, scale: Math.max(0, -exponent) };
}

/** How many digits the rate has, without zeros at either end. */
export function significantDigits(rate: Decimal): number {
  return splitNumber(formatDecimal(rate))!.digits.length;
}

/** A time with its zone, or a day, which means its first moment. */
export function toTime(value: unknown): Date | undefined {
  if (typeof value !== "string" || !TIME.test(value)) return undefined;
  const time = new Date(value);
  return Number.isNaN(time.getTime()) ? undefined : time;
}
