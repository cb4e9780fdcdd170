import { digitsOf } from "../check-invoice.ts";
import type { InvoiceItem } from "../document.ts";
import type { Invoice } from "../model.ts";
import { lineNet } from "../totals.ts";
import { formatMoney, formatQuantity } from "./printed-text.ts";

/** An item as text, the same on the page and in the PDF. */
type PrintedItem = {
  name: string;
  /** Further details. */
  details: string[];
  quantity: string;
  unit_price: string;
  tax: string;
  /** Without tax: these add up to the subtotal. */
  amount: string;
};

export function printItem(item: InvoiceItem): PrintedItem {
  const digits = digitsOf(item.currency)!;
  const money = (minor: string | bigint) => formatMoney(BigInt(minor), digits);
  const details = [
    item.reference && `Ref. ${item.reference}`,
    item.deliveryDate && `Delivered ${item.deliveryDate}`,
    item.deliveryPeriod,
    item.discount && item.discount !== "0" && `Discount ${money(item.discount)}`,
  ];
  const tax =
    item.tax?.type === "percentage" ? `${item.tax.amount} %` : item.tax && money(item.tax.amount);
  return {
    name: item.name ?? "Item",
    details: details.flatMap((detail) => detail || []),
    quantity: formatQuantity(item.quantity),
    unit_price: money(item.unitPrice),
    tax: tax ?? "–",
    amount: money(lineNet(item)),
  };
}

type Totals = Pick<Invoice, "currency" | "total" | "total_without_tax">;

export function printTotals({ currency, total, total_without_tax }: Totals) {
  const digits = digitsOf(currency)!;
  return {
    subtotal: formatMoney(total_without_tax, digits),
    tax: formatMoney(total - total_without_tax, digits),
    total: `${formatMoney(total, digits)} ${currency}`,
  };
}

/** What the buyer agrees to, late fees included; empty when there are no terms. */
export function printTerms({ currency, document }: Pick<Invoice, "currency" | "document">): string {
  const { lateFeesPercent, lateFeesFix, miscellaneous } = document.paymentTerms ?? {};
  const fees = [
    lateFeesPercent ? `${formatQuantity(lateFeesPercent)} %` : "",
    lateFeesFix && BigInt(lateFeesFix) > 0n
      ? `${formatMoney(BigInt(lateFeesFix), digitsOf(currency)!)} ${currency}`
      : "",
  ].filter(Boolean);
  const late = fees.length > 0 ? `Late fees: ${fees.join(" plus ")}` : "";
  return [document.terms, miscellaneous, late].filter(Boolean).join("\n");
}
