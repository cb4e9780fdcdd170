import fc from "fast-check";
import { describe, expect, it } from "vitest";
import {
  createDepositCode,
  findDepositCodes as findWithPlaces,
  formatDepositCode,
  isDepositCode,
} from "../../../src/onramps/deposits/deposit-code.ts";

const findDepositCodes = (text: string) => [
  ...new Set(findWithPlaces(text).map(({ code }) => code)),
];
const SYMBOLS = "23456789ABCDEFGHJKMNPQRSTUVWXYZ";
const codes = Array.from({ length: 200 }, createDepositCode);
const anyCode = fc.constantFrom(...codes);

describe("a deposit code", () => {
  it("has twelve symbols that cannot be confused, in groups of four", () => {
    for (const code of codes) {
      expect(code).toMatch(/^[2-9A-HJKMNP-Z]{12}$/);
      expect(formatDepositCode(code).replaceAll("-", "")).toBe(code);
    }
  });

  it("with one wrong symbol is not a code", () => {
    const place = fc.nat(11);
    const symbol = fc.constantFrom(...SYMBOLS);
    fc.assert(
      fc.property(anyCode, place, symbol, (code, at, other) => {
        fc.pre(code[at] !== other);
        return !isDepositCode(code.slice(0, at) + other + code.slice(at + 1));
      }),
      { numRuns: 5_000 },
    );
  });

  it("with any two symbols swapped is not a code", () => {
    fc.assert(
      fc.property(anyCode, fc.nat(11), fc.nat(11), (code, a, b) => {
        fc.pre(code[a] !== code[b]);
        const symbols = [...code];
        [symbols[a], symbols[b]] = [symbols[b]!, symbols[a]!];
        return !isDepositCode(symbols.join(""));
      }),
      { numRuns: 5_000 },
    );
  });
});

describe("a code in a bank's text", () => {
  const gaps = fc.constantFrom(
    "",
    "",
    " ",
    "  ",
    "-",
    " - ",
    "\n",
    "\u2011",
    "\u2013",
    "\u00a0",
    "_",
    "\u2060",
    "\u2212",
  );
  const typed = fc
    .tuple(anyCode, fc.array(gaps, { minLength: 11, maxLength: 11 }), fc.boolean())
    .map(([code, between, is_lower]) => {
      const text = [...code].map((symbol, at) => symbol + (between[at] ?? "")).join("");
      return { code, text: is_lower ? text.toLowerCase() : text };
    });
  const words = fc.constantFrom("Invoice 10, ", "/ROC/", "ref: ", "", "für Müller; ", "SEPA+");

  it("is found in any case, with spaces and hyphens anywhere, among other words", () => {
    fc.assert(
      fc.property(typed, words, words, ({ code, text }, before, after) => {
        expect(findDepositCodes(`${before}${text} ${after}`)).toContain(code);
      }),
      { numRuns: 5_000 },
    );
  });

  it("is not found inside a longer word or number", () => {
    const [code] = codes as [string];
    for (const text of [`X${code}`, `${code}7`, `12${code}`, `${code.slice(0, 11)}`, `é${code}`]) {
      expect(findDepositCodes(text)).toEqual([]);
    }
  });

  it("is found once when it occurs twice; two codes are two", () => {
    const [one, two] = codes as [string, string];
    expect(findDepositCodes(`${one} ${one.toLowerCase()}`)).toEqual([one]);
    expect(findDepositCodes(`${one}/${two}`).sort()).toEqual([one, two].sort());
  });

  it("200 000 random texts contain none of a thousand issued codes", () => {
    const given_out = new Set(Array.from({ length: 1_000 }, createDepositCode));
    const alphabet = `${SYMBOLS}${SYMBOLS.toLowerCase()}01OIL -/,.`;
    let state = 20261115;
    const next = () => {
      // A small generator of known quality (xorshift), so that a failing text can be reproduced.
      state ^= state << 13;
      state ^= state >>> 17;
      state ^= state << 5;
      return state >>> 0;
    };
    let found = 0;
    let known = 0;
    for (let count = 0; count < 200_000; count += 1) {
      let text = "";
      const length = 12 + (next() % 24);
      for (let at = 0; at < length; at += 1) text += alphabet[next() % alphabet.length];
      for (const code of findDepositCodes(text)) {
        found += 1;
        if (given_out.has(code)) known += 1;
      }
    }
    expect(known).toBe(0);
    // The texts are realistic: some have the form of a code, and a valid check symbol.
    expect(found).toBeGreaterThan(0);
  }, 60_000);
});
