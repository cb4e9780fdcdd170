import fc from "fast-check";
import { describe, expect, it } from "vitest";
import {
  decimalToNumber,
  divideByRate,
  divideDecimals,
  formatDecimal,
  isSameNumber,
  minorToNumber,
  minorToText,
  multiplyByRate,
  parseAmount,
  parseDecimal,
  roundDown,
  roundUp,
} from "../../src/platform/money.ts";

const DIGITS = [0, 2, 3, 6];

/** A slow reference implementation: the value of a decimal text in units of 10 ** -40. */
function exactly(text: string): bigint {
  const [mantissa, exponent = "0"] = text.toLowerCase().split("e");
  const [whole, decimals = ""] = mantissa!.split(".");
  const places = 40 - decimals.length + Number(exponent);
  return BigInt(whole + decimals) * 10n ** BigInt(places);
}

/** Texts similar to real input: any number of digits on either side, zeros anywhere. */
const plain_decimal = fc
  .tuple(
    fc.stringMatching(/^[0-9]{1,17}$/),
    fc.option(fc.stringMatching(/^[0-9]{1,9}0{0,3}$/), { nil: undefined }),
  )
  .map(([whole, decimals]) => (decimals === undefined ? whole : `${whole}.${decimals}`));

describe.each(DIGITS)("amounts of %i digits", (digits) => {
  it("a string is refused or keeps its exact value when read and written", () => {
    fc.assert(
      fc.property(plain_decimal, (text) => {
        const amount = parseAmount(text, digits);
        if ("reason" in amount) return;
        expect(amount.value).toBeGreaterThan(0n);
        expect(exactly(minorToText(amount.value, digits))).toBe(exactly(text));
        const emitted = JSON.stringify(minorToNumber(amount.value, digits));
        expect(exactly(emitted)).toBe(exactly(text));
      }),
      { numRuns: 5_000 },
    );
  });

  it("a JSON number is refused or keeps its exact value when read and written", () => {
    const number = fc.oneof(
      plain_decimal.map(Number),
      fc.double({ min: 0, noNaN: true, noDefaultInfinity: true }),
      fc.nat(),
    );
    fc.assert(
      fc.property(number, (value) => {
        const amount = parseAmount(value, digits);
        if ("reason" in amount) return;
        expect(minorToNumber(amount.value, digits)).toBe(value);
        expect(exactly(minorToText(amount.value, digits))).toBe(exactly(String(value)));
      }),
      { numRuns: 5_000 },
    );
  });

  it("every amount of up to 15 digits is accepted, as a string and as a number", () => {
    fc.assert(
      fc.property(fc.bigInt({ min: 1n, max: 10n ** 15n - 1n }), (minor) => {
        const text = minorToText(minor, digits);
        expect(parseAmount(text, digits)).toEqual({ value: minor });
        expect(parseAmount(JSON.parse(text), digits)).toEqual({ value: minor });
        expect(JSON.stringify(minorToNumber(minor, digits))).toBe(JSON.stringify(Number(text)));
      }),
      { numRuns: 2_000 },
    );
  });
});

describe("parseAmount", () => {
  it.each([
    ["1.50", 2, 150n],
    ["007", 0, 7n],
    ["1.500", 3, 1500n],
    [15.0, 0, 15n],
    [1e3, 0, 1000n],
    [1e-6, 6, 1n],
    [0.1, 2, 10n],
    ["999999999999999", 3, 999_999_999_999_999_000n],
  ])("accepts %j with %i digits", (value, digits, minor) => {
    expect(parseAmount(value, digits)).toEqual({ value: minor });
  });

  it.each([
    ["15.000", 2],
    ["1.500", 2],
    ["1000.0", 0],
    ["0.1000000", 6],
  ])("refuses the string %j with %i digits: the point may separate thousands", (value, digits) => {
    expect(parseAmount(value, digits)).toEqual({ reason: expect.stringContaining("decimals") });
  });

  it.each([
    ["0", "above zero"],
    ["0.00", "above zero"],
    [0, "above zero"],
    [-0, "above zero"],
    [-5, "above zero"],
    ["-5", "without sign, exponent"],
    ["+5", "without sign, exponent"],
    ["1e3", "without sign, exponent"],
    ["1,000", "without sign, exponent"],
    ["1 000", "without sign, exponent"],
    [" 1", "without sign, exponent"],
    ["1.", "without sign, exponent"],
    [".5", "without sign, exponent"],
    ["1.2.3", "without sign, exponent"],
    ["", "without sign, exponent"],
    ["٣", "without sign, exponent"],
    ["1\n", "without sign, exponent"],
    [Number.NaN, "Send a number"],
    [Number.POSITIVE_INFINITY, "Send a number"],
    [null, "Send a number"],
    [true, "Send a number"],
    [["1"], "Send a number"],
    [1.005, "at most 2 decimals"],
    ["1.005", "at most 2 decimals"],
    [0.1 + 0.2, "at most 2 decimals"],
    [1e-7, "at most 2 decimals"],
    [1e21, "15 significant digits"],
    [Number.MAX_VALUE, "15 significant digits"],
    [Number.MIN_VALUE, "at most 2 decimals"],
    ["1000000000000000", "15 significant digits"],
    ["12345678901234.56", "15 significant digits"],
  ])("refuses %j", (value, reason) => {
    expect(parseAmount(value, 2)).toEqual({ reason: expect.stringContaining(reason) });
  });

  it("refuses a token amount that the database could not store", () => {
    expect(parseAmount("999999999999", 6)).toEqual({ value: 999_999_999_999_000_000n });
    expect(parseAmount("1000000000000", 6)).toEqual({ reason: "Send a smaller amount." });
  });

  it("says that a currency without minor units has no decimals", () => {
    expect(parseAmount("1.5", 0)).toEqual({ reason: "Send no decimals." });
  });

  it("refuses a string of more than 100 characters, whatever it says", () => {
    const reason = "Send at most 100 characters.";
    expect(parseAmount(`${"0".repeat(99)}1`, 2)).toEqual({ value: 100n });
    expect(parseAmount(`${"0".repeat(100)}1`, 2)).toEqual({ reason });
    expect(parseAmount("9".repeat(1_000_000), 2)).toEqual({ reason });
  });
});

describe("writing numbers", () => {
  it("throws instead of writing a different amount", () => {
    expect(() => minorToNumber(12_345_678_901_234_567_891n, 2)).toThrow(RangeError);
    expect(() => decimalToNumber({ units: 10n ** 22n + 1n, scale: 6 })).toThrow(RangeError);
  });

  it("detects a number that differs from its text", () => {
    expect(isSameNumber("1000.000000000000001", 1000)).toBe(false);
    expect(isSameNumber("1e400", Number.POSITIVE_INFINITY)).toBe(false);
    expect(isSameNumber("1e-400", 0)).toBe(false);
    expect(isSameNumber("-0.0", 0)).toBe(true);
    expect(isSameNumber("1E+2", 100)).toBe(true);
    expect(isSameNumber("-1", 1)).toBe(false);
    expect(isSameNumber("1.50000000000000000000000", 1.5)).toBe(true);
  });
});

describe("rounding", () => {
  const numerator = fc.bigInt({ min: -(10n ** 30n), max: 10n ** 30n });
  const denominator = fc.bigInt({ min: 1n, max: 10n ** 20n });

  it("up and down enclose the quotient", () => {
    fc.assert(
      fc.property(numerator, denominator, (n, d) => {
        const [down, up] = [roundDown(n, d), roundUp(n, d)];
        expect(down * d <= n && n < (down + 1n) * d).toBe(true);
        expect((up - 1n) * d < n && n <= up * d).toBe(true);
      }),
    );
    expect(() => roundUp(1n, 0n)).toThrow(RangeError);
  });

  it("a conversion and its reverse lose nothing if each rounds in the operator's favour", () => {
    const rate = fc
      .tuple(fc.bigInt({ min: 1n, max: 10n ** 12n - 1n }), fc.integer({ min: 0, max: 12 }))
      .map(([units, scale]) => ({ units, scale }));
    fc.assert(
      fc.property(fc.bigInt({ min: 1n, max: 10n ** 15n }), rate, (minor, at) => {
        const token = divideByRate(minor, 2, at, 6, roundUp);
        expect(multiplyByRate(token, 6, at, 2, roundDown)).toBeGreaterThanOrEqual(minor);
        if (token > 0n) {
          const before = divideByRate(minor, 2, at, 6, roundDown);
          expect(multiplyByRate(before, 6, at, 2, roundDown)).toBeLessThanOrEqual(minor);
        }
      }),
    );
  });
});

describe("decimals", () => {
  it("are written as they were read, without trailing zeros", () => {
    fc.assert(
      fc.property(plain_decimal, (text) => {
        const written = formatDecimal(parseDecimal(text)!);
        expect(exactly(written)).toBe(exactly(text));
        expect(written).toMatch(/^(0|[1-9]\d*)(\.\d*[1-9])?$/);
      }),
    );
    expect(formatDecimal({ units: -150n, scale: 2 })).toBe("-1.5");
    for (const text of ["", ".", "1.", "-1", "1e3", "NaN"]) {
      expect(parseDecimal(text)).toBeUndefined();
    }
  });

  it.each([
    ["1", "1.1626", "0.860141063134"],
    ["1.1626", "1", "1.1626"],
    ["1", "3", "0.333333333333"],
    ["1000", "3", "333.333333333"],
    ["2", "3000000", "0.000000666666666666"],
    ["123456789012345", "1", "123456789012000"],
    ["1", "10", "0.1"],
    ["1", "1000", "0.001"],
    ["999", "1000", "0.999"],
  ])("%s / %s truncated to 12 digits is %s", (a, b, quotient) => {
    const result = divideDecimals(parseDecimal(a)!, parseDecimal(b)!, 12, roundDown);
    expect(formatDecimal(result)).toBe(quotient);
  });
});
