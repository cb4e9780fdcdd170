import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { InvoiceItem } from "../../src/invoices/document.ts";
import { formatMoney } from "../../src/invoices/pdf/printed-text.ts";
import { totalsOf } from "../../src/invoices/totals.ts";

const item = (more: Partial<InvoiceItem>): InvoiceItem => ({
  currency: "USD",
  quantity: 1,
  unitPrice: "0",
  ...more,
});

describe("totals", () => {
  it("of 2 × 99.99 at 20 % are 239.98", () => {
    const tax = { type: "percentage", amount: "20" } as const;
    const totals = totalsOf([item({ quantity: 2, unitPrice: "9999", tax })]);
    expect(totals).toEqual({ total: 23998n, total_without_tax: 19998n });
  });

  it.each([
    [{ quantity: 0.1, unitPrice: "3" }, 0n],
    [{ quantity: 0.5, unitPrice: "1" }, 1n],
    [{ quantity: 1.1, unitPrice: "1015" }, 1117n],
    [{ quantity: 1e-12, unitPrice: "999999999999999" }, 1000n],
    [{ quantity: 3, unitPrice: "333", discount: "99" }, 900n],
    [{ unitPrice: "100", tax: { type: "fixed", amount: "7" } }, 107n],
    [{ unitPrice: "200", tax: { type: "percentage", amount: ".25" } }, 201n],
  ] as [Partial<InvoiceItem>, bigint][])("of %j are %s, halves rounded up", (more, total) => {
    expect(totalsOf([item(more)]).total).toBe(total);
  });

  it("equal an independent calculation in whole units of 10^-30", () => {
    const decimal = (digits: number) =>
      fc
        .tuple(fc.nat({ max: 999_999 }), fc.integer({ min: 0, max: digits }))
        .map(([units, scale]) => ({ units, scale, number: Number(`${units}e-${scale}`) }));
    const items = fc.array(
      fc.record({
        quantity: decimal(6),
        unitPrice: fc.bigInt({ min: 0n, max: 999_999_999n }),
        tax: fc.oneof(
          fc.constant(null),
          fc.nat({ max: 100_000 }).map((fixed) => ({ type: "fixed" as const, fixed })),
          decimal(4).map((percent) => ({ type: "percentage" as const, percent })),
        ),
      }),
      { minLength: 1, maxLength: 10 },
    );
    fc.assert(
      fc.property(items, (lines) => {
        const given = lines.map(({ quantity, unitPrice, tax }) => {
          const amount = tax?.type === "fixed" ? String(tax.fixed) : tax && plain(tax.percent);
          const own = tax && amount ? { tax: { type: tax.type, amount } } : {};
          return item({ quantity: quantity.number, unitPrice: String(unitPrice), ...own });
        });
        const expected = lines.reduce((sum, line) => sum + scaledTotal(line), 0n);
        expect(totalsOf(given).total).toBe(expected);
      }),
      { numRuns: 2_000 },
    );
  });
});

type Line = {
  quantity: Parts;
  unitPrice: bigint;
  tax: { type: "fixed"; fixed: number } | { type: "percentage"; percent: Parts } | null;
};
type Parts = { units: number; scale: number };

const SCALE = 10n ** 30n;

/** Everything in multiples of 10^-30, of which each value of the test is a whole number. */
function scaledTotal({ quantity, unitPrice, tax }: Line): bigint {
  const net = unitPrice * scaled(quantity);
  const percent = tax?.type === "percentage" ? scaled(tax.percent) : 0n;
  const gross = net + (net * percent) / SCALE / 100n;
  const exact = tax?.type === "fixed" ? gross + BigInt(tax.fixed) * SCALE : gross;
  const [whole, rest] = [exact / SCALE, exact % SCALE];
  return rest * 2n >= SCALE ? whole + 1n : whole;
}

function scaled({ units, scale }: Parts): bigint {
  return BigInt(units) * 10n ** BigInt(30 - scale);
}

/** Formatted manually: JavaScript would use exponents and rounding. */
function plain({ units, scale }: Parts): string {
  const digits = String(units).padStart(scale + 1, "0");
  return scale === 0 ? digits : `${digits.slice(0, -scale)}.${digits.slice(-scale)}`;
}

describe("amounts for people", () => {
  it.each([
    [0n, 2, "0.00"],
    [5n, 2, "0.05"],
    [123456789n, 2, "1,234,567.89"],
    [1000n, 0, "1,000"],
    [1500000n, 6, "1.500000"],
  ])("%s of %s digits is %s", (minor, digits, text) => {
    expect(formatMoney(minor, digits)).toBe(text);
  });
});
