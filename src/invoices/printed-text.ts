import { QUANTITY_DECIMALS_MAX } from "./check-invoice.ts";
import type { PrintedInvoice } from "./load-pdf.ts";

/** What a font can draw. */
export type Face = { hasGlyphForCodePoint(code_point: number): boolean };

const MISSING = "□";
const CLUSTERS = new Intl.Segmenter("en", { granularity: "grapheme" });

/** Marks that turn the order of letters round: who writes with them can make a line lie. */
const DIRECTION_MARKS = /[\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]/g;
const LINE_BREAKS = /\r\n?|[\u0085\u2028\u2029]/g;

/** What the fonts cannot draw (Chinese, Japanese, emoji …) is shown to be there, as a box each. */
export function withGlyphs(printed: PrintedInvoice, face: Face): PrintedInvoice {
  const known = new Map<number, boolean>();
  const hasGlyph = (letter: string) => {
    const code_point = letter.codePointAt(0)!;
    const found =
      known.get(code_point) ?? (/\s/.test(letter) || face.hasGlyphForCodePoint(code_point));
    known.set(code_point, found);
    return found;
  };
  const hasGlyphs = (text: string) => [...text].every(hasGlyph);
  const draw = (text: string) => {
    const plain = text
      .replace(DIRECTION_MARKS, "")
      .replace(LINE_BREAKS, "\n")
      .replaceAll("\t", " ");
    if (hasGlyphs(plain)) return plain;
    const clusters = [...CLUSTERS.segment(plain)];
    return clusters.map(({ segment }) => (hasGlyphs(segment) ? segment : MISSING)).join("");
  };
  const { invoice, ways_to_pay } = printed;
  return {
    invoice: { ...invoice, document: mapTexts(invoice.document, draw) },
    ways_to_pay: mapTexts(ways_to_pay, draw),
  };
}

function mapTexts<Value>(value: Value, map: (text: string) => string): Value {
  const read = (part: unknown): unknown => {
    if (typeof part === "string") return map(part);
    if (Array.isArray(part)) return part.map(read);
    if (typeof part !== "object" || part === null) return part;
    return Object.fromEntries(Object.entries(part).map(([name, inner]) => [name, read(inner)]));
  };
  return read(value) as Value;
}

/** Plain decimals, however small: 0.0000001, not 1e-7. */
export function formatQuantity(quantity: number): string {
  const text = String(quantity);
  return text.includes("e") ? quantity.toFixed(QUANTITY_DECIMALS_MAX).replace(/0+$/, "") : text;
}

/** 1234567 of two digits is 12,345.67. */
export function formatMoney(minor: bigint, digits: number): string {
  const text = String(minor).padStart(digits + 1, "0");
  const whole = text.slice(0, text.length - digits).replace(/\B(?=(\d{3})+$)/g, ",");
  return digits === 0 ? whole : `${whole}.${text.slice(-digits)}`;
}
