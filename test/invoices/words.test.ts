import { expect, it, vi } from "vitest";
import { wordsOf } from "../../src/invoices/links.ts";

const KEY = Buffer.alloc(32);
type Words = Parameters<typeof wordsOf>[2];

/** How many words of an invoice with such items are looked at. */
function countRead(names: readonly string[]): number {
  const party = { email: "anna@example.com" };
  const items = names.map((name) => ({ name }));
  const document = { buyerInfo: party, sellerInfo: party, invoiceItems: items, invoiceNumber: "1" };
  const normalize = vi.spyOn(String.prototype, "normalize");
  try {
    wordsOf(KEY, "account", { id: "id", document, tracked: [] } as unknown as Words);
    return normalize.mock.calls.length;
  } finally {
    normalize.mockRestore();
  }
}

it("the words by which an invoice is found are few, however many its items have", () => {
  expect(countRead(["one two"])).toBeGreaterThan(2);
  const repeated = Array.from({ length: 500 }, (_, at) => `${"a b c ".repeat(30)}${at % 9}`);
  expect(countRead(repeated)).toBeLessThanOrEqual(2_000);
  const different = Array.from({ length: 500 }, (_, at) => `${at} word${at}`);
  expect(countRead(different)).toBeLessThan(1_000);
});
