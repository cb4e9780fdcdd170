import { randomInt } from "node:crypto";
import { upperAscii } from "../../catalogue/text.ts";

/**
 * The code that a payer writes into the text of a transfer. People type it, and banks wrap lines
 * and change case, so its symbols cannot be confused (no 0 O, 1 I L), and the last one is a check
 * symbol. With 31 symbols, a prime, the weighted sum detects every single wrong symbol and every
 * swap of two.
 */
const SYMBOLS = "23456789ABCDEFGHJKMNPQRSTUVWXYZ";
const LENGTH = 12;
const GROUP = 4;

const VALUES = new Map([...SYMBOLS].map((symbol, value) => [symbol, value]));

export function createDepositCode(): string {
  const symbols = Array.from({ length: LENGTH - 1 }, () => SYMBOLS[randomInt(SYMBOLS.length)]!);
  return symbols.join("") + checkSymbol(symbols);
}

/** In groups, as it is shown to people. */
export function formatDepositCode(code: string): string {
  return code.match(new RegExp(`.{${GROUP}}`, "g"))!.join("-");
}

function checkSymbol(symbols: readonly string[]): string {
  const sum = symbols.reduce(
    (total, symbol, place) => total + (place + 1) * VALUES.get(symbol)!,
    0,
  );
  // The check has weight 12, and 12 × 13 = 5 × 31 + 1: its inverse is 13.
  const value = (((-sum * 13) % SYMBOLS.length) + SYMBOLS.length) % SYMBOLS.length;
  return SYMBOLS[value]!;
}

export function isDepositCode(text: string): boolean {
  const symbols = [...text];
  if (symbols.length !== LENGTH || !symbols.every((symbol) => VALUES.has(symbol))) return false;
  return checkSymbol(symbols.slice(0, -1)) === symbols.at(-1);
}

const WORD = /[\p{L}\p{N}\p{M}]+/gu;
/** What may separate the symbols of a code: white space and hyphens, including invisible ones. */
const GAP = /^[\s\p{Pd}_\u00ad\u200b-\u200d\u2060\u2212\ufeff]+$/u;
/** Longer than any bank's text; the rest is not read. */
const TEXT_LENGTH_MAX = 4_000;

/** A code and its position. */
type FoundCode = { code: string; start: number; end: number };

/**
 * The complete codes in a text, in any case, with spaces and hyphens anywhere. A code starts and
 * ends at word boundaries: a part of a longer number is not a code.
 */
export function findDepositCodes(text: string): FoundCode[] {
  const read = upperAscii(text.slice(0, TEXT_LENGTH_MAX).normalize("NFKC"));
  const words = [...read.matchAll(WORD)].map((match) => ({
    text: match[0],
    start: match.index,
    end: match.index + match[0].length,
  }));
  const found: FoundCode[] = [];
  for (const [first, { text: start_text, start }] of words.entries()) {
    let joined = start_text;
    let last = first;
    while (joined.length < LENGTH) {
      const next = words[last + 1];
      if (!next || !GAP.test(read.slice(words[last]!.end, next.start))) break;
      joined += next.text;
      last += 1;
    }
    if (isDepositCode(joined)) found.push({ code: joined, start, end: words[last]!.end });
  }
  return found;
}

/**
 * The intended codes of a text: one that only overlaps an issued code arose by chance, from parts
 * of it and adjacent words.
 */
export function meantCodes(found: readonly FoundCode[], isKnown: (code: string) => boolean) {
  const known = found.filter(({ code }) => isKnown(code));
  const beside = found.filter(
    (other) => !known.some(({ start, end }) => other.start < end && start < other.end),
  );
  return [...new Set([...known, ...beside].map(({ code }) => code))];
}
