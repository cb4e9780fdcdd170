import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { formatDate, parseDate } from "../../src/catalogue/dates.ts";

describe("dates", () => {
  test("both formats are read as the same day", () => {
    expect(parseDate("21/04/1988")).toBe("1988-04-21");
    expect(parseDate("1988-04-21")).toBe("1988-04-21");
  });

  test.each([
    ...["31/02/2000", "2001-02-29", "2000-13-01", "00/01/2000", "2000-00-10", "0000-01-01"],
    ...["1/2/2000", "04/21/1988", "1988/04/21", "21-04-1988", "", " 1988-04-21", "1988-04-21T00"],
  ])("%j is not a date", (text) => {
    expect(parseDate(text)).toBeNull();
  });

  test("29 February exists in leap years", () => {
    expect(parseDate("29/02/2000")).toBe("2000-02-29");
    expect(parseDate("29/02/1900")).toBeNull();
  });

  test("every formatted day is read as the same day", () => {
    const day = fc.date({
      min: new Date("0001-01-01"),
      max: new Date("9999-12-31"),
      noInvalidDate: true,
    });
    fc.assert(
      fc.property(day, (date) => {
        const iso = date.toISOString().slice(0, 10);
        expect(parseDate(iso)).toBe(iso);
        expect(parseDate(formatDate(iso))).toBe(iso);
      }),
    );
  });

  test("any text gives a date or null", () => {
    fc.assert(
      fc.property(fc.string({ unit: "binary" }), (text) => {
        expect(parseDate(text) ?? "2000-01-01").toMatch(/^\d{4}-\d{2}-\d{2}$/);
      }),
    );
  });
});
