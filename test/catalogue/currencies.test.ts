import { describe, expect, test } from "vitest";
import { BLOCKED_COUNTRIES, isCountry } from "../../src/catalogue/countries.ts";
import {
  CURRENCIES,
  minorDigits,
  PAYOUT_CURRENCIES,
  TOKEN_CURRENCIES,
} from "../../src/catalogue/currencies.ts";
import { CURRENCY_RAILS } from "../../src/catalogue/rails.ts";

describe("currencies", () => {
  test("every row has a lower-case code, a name and its digits", () => {
    expect(CURRENCIES.size).toBeGreaterThan(160);
    for (const [code, currency] of CURRENCIES) {
      expect(code).toMatch(/^[a-z]{3}$/);
      expect(currency.code).toBe(code);
      expect(currency.name).toMatch(/^\p{Lu}.{2,}$/u);
      expect([0, 2, 3, 4]).toContain(currency.minor_digits);
    }
  });

  test("the table is in alphabetical order without duplicates", () => {
    const codes = [...CURRENCIES.keys()];
    expect(codes).toEqual([...codes].sort());
  });

  test.each(["ang", "bgn", "hrk", "cuc", "sll", "zwl", "xxx", "xau"])(
    "%s is not in the table",
    (code) => {
      expect(CURRENCIES.has(code)).toBe(false);
    },
  );

  test.each(["xcg", "sle", "ved", "zwg", "xad", "stn", "mru"])("%s is in the table", (code) => {
    expect(minorDigits(code)).toBe(2);
  });

  test.each([
    ...[["jpy", 0] as const, ["krw", 0] as const, ["clp", 0] as const, ["pyg", 0] as const],
    ...[["xaf", 0] as const, ["xof", 0] as const, ["ugx", 0] as const, ["isk", 0] as const],
    ...[["tnd", 3] as const, ["kwd", 3] as const, ["bhd", 3] as const, ["clf", 4] as const],
    ...[["usd", 2] as const, ["idr", 2] as const, ["usdc", 6] as const, ["usdt", 6] as const],
  ])("%s has %i digits", (code, digits) => {
    expect(minorDigits(code)).toBe(digits);
  });

  test.each(["constructor", "__proto__", "USD", ""])("the unknown code %j has none", (code) => {
    expect(minorDigits(code)).toBeUndefined();
  });

  test("every payout currency is in the table and offers a rail, and nothing else does", () => {
    expect(Object.keys(CURRENCY_RAILS).sort()).toEqual([...PAYOUT_CURRENCIES].sort());
    expect(PAYOUT_CURRENCIES.filter((code) => !CURRENCIES.has(code))).toEqual([]);
    expect(PAYOUT_CURRENCIES.filter((code) => CURRENCY_RAILS[code].length === 0)).toEqual([]);
  });

  test("the tokens are usdc and usdt", () => {
    expect([...TOKEN_CURRENCIES.keys()]).toEqual(["usdc", "usdt"]);
  });
});

describe("countries", () => {
  test.each(["US", "PT", "TW", "SX"])("%s is a country", (code) => {
    expect(isCountry(code)).toBe(true);
  });

  test.each(["XK", "AN", "EU", "us", "USA", "", "ZZ"])("%j is not a country", (code) => {
    expect(isCountry(code)).toBe(false);
  });

  test("the blocked countries are thirty assigned codes", () => {
    expect(new Set(BLOCKED_COUNTRIES).size).toBe(30);
    expect(BLOCKED_COUNTRIES.filter((code) => !isCountry(code))).toEqual([]);
  });
});
