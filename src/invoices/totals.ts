import {
  type Decimal,
  parseDecimal,
  powerOfTen,
  roundDown,
  splitNumber,
} from "../platform/money.ts";
import type { InvoiceItem } from "./document.ts";

/** Minor units of the invoice's currency. */
export type Totals = { total: bigint; total_without_tax: bigint };

/** The largest amount: a JSON number must be able to represent it exactly. */
export const TOTAL_MAX = 10n ** 15n - 1n;

type Fraction = { numerator: bigint; denominator: bigint };

/** Each line is rounded to whole minor units, then they are summed. */
export function totalsOf(items: readonly InvoiceItem[]): Totals {
  let [total, total_without_tax] = [0n, 0n];
  for (const item of items) {
    total += roundHalfUp(withTax(item));
    total_without_tax += roundHalfUp(netOf(item));
  }
  return { total, total_without_tax };
}

/** Whether a line costs less than zero without tax, because its discount is too high. */
export function isNegative(item: InvoiceItem): boolean {
  return netOf(item).numerator < 0n;
}

/** The cost of one line without tax: these add up to the total without tax. */
export function lineNet(item: InvoiceItem): bigint {
  return roundHalfUp(netOf(item));
}

/** unitPrice × quantity − discount, exactly. */
function netOf(item: InvoiceItem): Fraction {
  const quantity = decimalOf(item.quantity);
  const denominator = powerOfTen(quantity.scale);
  const discount = BigInt(item.discount ?? "0") * denominator;
  return { numerator: BigInt(item.unitPrice) * quantity.units - discount, denominator };
}

/** net × (100 + percent) / 100, or net + the fixed tax. */
function withTax(item: InvoiceItem): Fraction {
  const { numerator, denominator } = netOf(item);
  if (item.tax?.type === "percentage") {
    const percent = percentOf(item.tax.amount)!;
    const hundred = 100n * powerOfTen(percent.scale);
    return {
      numerator: numerator * (hundred + percent.units),
      denominator: denominator * hundred,
    };
  }
  const fixed = BigInt(item.tax?.amount ?? "0");
  return { numerator: numerator + fixed * denominator, denominator };
}

/** Also without a digit before the point: ".5". */
export function percentOf(text: string): Decimal | undefined {
  return parseDecimal(text.startsWith(".") ? `0${text}` : text);
}

/** A number of a request, exactly as it was written. */
function decimalOf(number: number): Decimal {
  const { digits, exponent } = splitNumber(String(number))!;
  const units = BigInt(digits || "0");
  return exponent >= 0
    ? { units: units * powerOfTen(exponent), scale: 0 }
    : { units, scale: -exponent };
}

function roundHalfUp({ numerator, denominator }: Fraction): bigint {
  return roundDown(2n * numerator + denominator, 2n * denominator);
}
