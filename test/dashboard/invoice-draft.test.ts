import { expect, it } from "vitest";
import {
  EMPTY_DRAFT,
  EMPTY_ITEM,
  remaining,
  toInvoice,
  totalsOf,
  unreadable,
} from "../../dashboard/src/app/pages/invoices/draft.ts";

const withItem = (item: Partial<typeof EMPTY_ITEM>) => ({
  ...EMPTY_DRAFT,
  items: [{ ...EMPTY_ITEM, ...item }],
});

it.each([
  ["1234,5", "1234.50", "123450"],
  ["1.234,50", "1234.50", "123450"],
  ["1234.5", "1234.50", "123450"],
  ["1234,", "1234.00", "123400"],
])("a price written as %s comes to %s", (price, total, minor) => {
  const draft = withItem({ price });
  expect(totalsOf(draft).total).toBe(total);
  expect(toInvoice(draft, true).invoiceItems[0]).toMatchObject({ unitPrice: minor });
  expect(unreadable(draft)).toEqual([]);
});

it("quantity and tax may have a comma too", () => {
  const draft = withItem({ price: "100", quantity: "1,5", tax: "7,5" });
  expect(totalsOf(draft)).toEqual({ net: "150.00", tax: "11.25", total: "161.25" });
  const [item] = toInvoice(draft, true).invoiceItems;
  expect(item).toMatchObject({ quantity: "1.5", tax: { amount: "7.5" } });
});

it.each(["1,234", "12.345", "abc", "12345678901234"])("%s is no price, and marked", (price) => {
  const fields = unreadable(withItem({ price })).map(({ field }) => field);
  expect(fields).toEqual(["invoiceItems[0].unitPrice"]);
});

it("a problem goes when its field is changed", () => {
  const option = "paymentOptions[0].value.paymentInformation";
  const fields = ["invoiceNumber", "buyerInfo.email", `${option}.paymentDetailId`];
  const problems = fields.map((field) => ({
    field,
    code: "parameter_missing" as const,
    message: "",
  }));
  const left = (change: Partial<typeof EMPTY_DRAFT>) =>
    remaining(
      problems,
      toInvoice(EMPTY_DRAFT, true),
      toInvoice({ ...EMPTY_DRAFT, ...change }, true),
    ).map(({ field }) => field);
  expect(left({ holder: "A" })).toEqual(fields);
  expect(left({ number: "1" })).toEqual(fields.slice(1));
  expect(left({ iban: "DE8" })).toEqual(fields.slice(0, 2));
});
