import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { fitName, fitText, toBankText } from "../../../src/partners/bank/iso20022/bank-text.ts";

const ACCEPTED = /^[a-zA-Z0-9/\-?:().,'+ ]*$/;
const anyText = fc.string({ unit: "binary", maxLength: 200 });

describe("the characters of bank files", () => {
  it.each([
    ["Würth & Söhne", "Wuerth + Soehne"],
    ["MÜLLER GROẞ", "MUELLER GROSS"],
    ["Mu\u0308ller", "Mueller"],
    ["Øystein Ærø", "Oystein Aero"],
    ["Łukasz Żółć", "Lukasz Zolc"],
    ["Νίκος Παππάς", "Nikos Pappas"],
    ["Иван Петров", "Ivan Petrov"],
    ["山田 太郎", "ShanTian TaiLang"],
    ["pay@example_co", "pay(at)example-co"],
    ["  a \t b\n", "a b"],
    ["//a//b/", "a/b"],
    ["5 € | 2 £", "5 EUR / 2 GBP"],
    ["a\ue000", "a."],
    ["\ud800x", "?x"],
  ])("%j is written as %j", (text, written) => {
    expect(toBankText(text)).toBe(written);
  });

  it("every text is written in accepted characters, without slashes that separate", () => {
    fc.assert(
      fc.property(anyText, (text) => {
        const written = toBankText(text);
        expect(written).toMatch(ACCEPTED);
        expect(written).not.toMatch(/^[ /]|[ /]$|\/\/| {2}/);
        expect(toBankText(written)).toBe(written);
      }),
    );
  });

  it("a letter of any alphabet is never dropped", () => {
    fc.assert(
      fc.property(fc.string({ unit: "grapheme", minLength: 1, maxLength: 1 }), (letter) => {
        fc.pre(/^\p{L}/u.test(letter));
        expect(toBankText(`a${letter}b`).length).toBeGreaterThan(2);
      }),
    );
  });
});

describe("texts that are too long", () => {
  it("a shortened text has at most the characters that were asked for", () => {
    fc.assert(
      fc.property(anyText, fc.integer({ min: 16, max: 140 }), (text, length) => {
        expect(fitText(text, length).length).toBeLessThanOrEqual(length);
        expect(fitName(text, length).length).toBeLessThanOrEqual(length);
        expect(toBankText(text).startsWith(fitText(text, length))).toBe(true);
      }),
    );
  });

  it("two payees whose names begin alike keep different names", () => {
    const ending = fc.string({ minLength: 1, maxLength: 60 });
    const start = fc.string({ minLength: 60, maxLength: 140 });
    fc.assert(
      fc.property(start, ending, ending, (common, one, other) => {
        const [first, second] = [`${common}${one}`, `${common}${other}`];
        fc.pre(toBankText(first) !== toBankText(second));
        expect(fitName(first, 70)).not.toBe(fitName(second, 70));
      }),
    );
  });

  it("a name that fits is written as it is", () => {
    const name = "x".repeat(70);
    expect(fitName(name, 70)).toBe(name);
    expect(fitName(`${name}y`, 70)).toMatch(/^x{61} [0-9A-F]{8}$/);
  });
});
