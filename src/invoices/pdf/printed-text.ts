import { QUANTITY_DECIMALS_MAX } from "../check-invoice.ts";
import type { PrintedInvoice } from "./load-pdf.ts";

const MISSING = "□";
const CLUSTERS = new Intl.Segmenter("en", { granularity: "grapheme" });

/** Marks that reorder letters: with them a line could show a misleading text. */
const DIRECTION_MARKS = /[\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]/g;
const LINE_BREAKS = /\r\n?|[\u0085\u2028\u2029]/g;

/** The vowel AM is a ring and a letter; the ring is drawn below a tone mark that precedes it. */
const THAI_AM = /([\u0e48-\u0e4b]?)\u0e33/g;

/** The texts of an invoice as they are drawn, without formatting characters. */
export function cleanTexts(printed: PrintedInvoice): PrintedInvoice {
  return mapPrinted(printed, (text) =>
    text
      .replace(DIRECTION_MARKS, "")
      .replace(LINE_BREAKS, "\n")
      .replaceAll("\t", " ")
      .replace(THAI_AM, "\u0e4d$1\u0e32"),
  );
}

export function textsOf(printed: PrintedInvoice): string[] {
  const texts: string[] = [];
  mapPrinted(printed, (text) => {
    texts.push(text);
    return text;
  });
  return texts;
}

/** What no font can draw (emoji, rare scripts) is shown as one box each. */
export function withGlyphs(
  printed: PrintedInvoice,
  hasGlyph: (char: string) => boolean,
): PrintedInvoice {
  const hasGlyphs = (text: string) => [...text].every(hasGlyph);
  return mapPrinted(printed, (text) => {
    if (hasGlyphs(text)) return text;
    const clusters = [...CLUSTERS.segment(text)];
    return clusters.map(({ segment }) => (hasGlyphs(segment) ? segment : MISSING)).join("");
  });
}

function mapPrinted(printed: PrintedInvoice, map: (text: string) => string): PrintedInvoice {
  const { invoice, ways_to_pay } = printed;
  return {
    invoice: { ...invoice, document: mapTexts(invoice.document, map) },
    ways_to_pay: mapTexts(ways_to_pay, map),
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
  const options = { maximumFractionDigits: QUANTITY_DECIMALS_MAX, useGrouping: false };
  return quantity.toLocaleString("en-US", options);
}

/** 1234567 with two decimals is 12,345.67. */
export function formatMoney(minor: bigint, digits: number): string {
  const text = String(minor).padStart(digits + 1, "0");
  const whole = BigInt(text.slice(0, text.length - digits)).toLocaleString("en-US");
  return digits === 0 ? whole : `${whole}.${text.slice(-digits)}`;
}
