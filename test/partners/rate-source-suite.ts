import { describe, expect, it } from "vitest";
import { CURRENCIES } from "../../src/catalogue/currencies.ts";
import type { RateSource } from "../../src/partners/rates/port.ts";
import { RATE_DIGITS_MAX, significantDigits } from "../../src/partners/rates/rate-text.ts";
import { decimalToNumber, formatDecimal, parseDecimal } from "../../src/platform/money.ts";

/** The guarantees of every source of rates. */
export function describeRateSource(name: string, open: () => Promise<RateSource>): void {
  describe(`${name} as a source of rates`, () => {
    it("has a name and says how often to read it", async () => {
      const source = await open();
      expect(source.name).toMatch(/\S/);
      expect(source.every_ms).toBeGreaterThanOrEqual(1_000);
    });

    it("returns exact rates that a JSON number can represent, for known currencies", async () => {
      const { rates } = await (await open()).read();
      expect(Object.keys(rates).length).toBeGreaterThan(1);
      for (const [currency, text] of Object.entries(rates)) {
        expect(CURRENCIES.has(currency), currency).toBe(true);
        const rate = parseDecimal(text)!;
        expect(rate.units).toBeGreaterThan(0n);
        expect(formatDecimal(rate), "written in one way only").toBe(text);
        expect(significantDigits(rate)).toBeLessThanOrEqual(RATE_DIGITS_MAX);
        expect(parseDecimal(String(decimalToNumber(rate)))).toEqual(rate);
      }
    });

    it("returns usd as 1, since all others are stated in it", async () => {
      expect((await (await open()).read()).rates.usd).toBe("1");
    });

    it("returns the time of its rates, or that they never expire", async () => {
      const { as_of } = await (await open()).read();
      if (as_of !== null) expect(as_of.getTime()).toBeGreaterThan(0);
    });

    it("returns the same rates when read again", async () => {
      const source = await open();
      expect(await source.read()).toEqual(await source.read());
    });
  });
}
