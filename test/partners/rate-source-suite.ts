import { describe, expect, it } from "vitest";
import { CURRENCIES } from "../../src/catalogue/currencies.ts";
import type { RateSource } from "../../src/partners/rates/port.ts";
import { RATE_DIGITS_MAX, significantDigits } from "../../src/partners/rates/rate-text.ts";
import { decimalToNumber, formatDecimal, parseDecimal } from "../../src/platform/money.ts";

/** What every source of rates must do, whatever is behind it. */
export function describeRateSource(name: string, open: () => Promise<RateSource>): void {
  describe(`${name} as a source of rates`, () => {
    it("names itself and says how often it is worth asking", async () => {
      const source = await open();
      expect(source.name).toMatch(/\S/);
      expect(source.every_ms).toBeGreaterThanOrEqual(1_000);
    });

    it("gives exact rates that a JSON number can show, for known currencies", async () => {
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

    it("gives usd as 1, as it is what the others are stated in", async () => {
      expect((await (await open()).read()).rates.usd).toBe("1");
    });

    it("says what time its rates are of, or that they never age", async () => {
      const { as_of } = await (await open()).read();
      if (as_of !== null) expect(as_of.getTime()).toBeGreaterThan(0);
    });

    it("says the same again when asked again", async () => {
      const source = await open();
      expect(await source.read()).toEqual(await source.read());
    });
  });
}
