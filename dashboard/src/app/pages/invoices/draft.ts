import type { FieldError, NewInvoice } from "@sliproad/sdk";
import { digitsOf, fromMinor } from "../../parts/format-amount.ts";
import { findFormat, toPlainAmount } from "../../parts/written-values.ts";

export const CURRENCIES = [
  ...["USD", "EUR", "GBP", "CHF", "CAD", "AUD", "SGD", "JPY", "AED", "BRL", "MXN", "INR"],
  ...["NGN", "KES", "ZAR", "TRY", "PLN", "SEK", "NOK", "DKK"],
];
export const CHAINS = ["polygon", "ethereum", "arbitrum", "base", "tron", "solana"];

export type Item = { key: number; name: string; quantity: string; price: string; tax: string };
export const EMPTY_ITEM: Item = { key: 0, name: "", quantity: "1", price: "", tax: "" };

/** What is typed; amounts as people write them. */
export type Draft = {
  number: string;
  currency: string;
  email: string;
  name: string;
  due: string;
  items: Item[];
  way: "iban" | "number" | "wallet";
  holder: string;
  iban: string;
  account: string;
  routing: string;
  address: string;
  chain: string;
  note: string;
};

export const EMPTY_DRAFT: Draft = {
  ...{ number: "", currency: "USD", email: "", name: "", due: "", items: [EMPTY_ITEM] },
  ...{ way: "iban", holder: "", iban: "", account: "", routing: "", address: "" },
  ...{ chain: "polygon", note: "" },
};

/** As the API takes it; what is not written is left out. */
export function toInvoice(draft: Draft, convert: boolean): NewInvoice {
  const { currency } = draft;
  return {
    invoiceNumber: draft.number.trim(),
    invoiceItems: draft.items.map((item) => ({
      currency,
      name: item.name.trim(),
      quantity: toPlain(item.quantity) ?? item.quantity.trim(),
      unitPrice: toMinor(item.price, currency) ?? item.price.trim(),
      ...(item.tax.trim()
        ? { tax: { type: "percentage", amount: toPlain(item.tax) ?? item.tax.trim() } }
        : {}),
    })),
    buyerInfo: {
      email: draft.email.trim(),
      ...(draft.name.trim() ? { businessName: draft.name.trim() } : {}),
    },
    ...(draft.due ? { paymentTerms: { dueDate: draft.due } } : {}),
    paymentOptions: [toOption(draft)],
    ...(draft.note.trim() ? { note: draft.note.trim() } : {}),
    convert,
  };
}

function toOption(draft: Draft): NewInvoice["paymentOptions"][number] {
  const { way, currency, chain, address, holder, iban, account, routing } = draft;
  if (way === "wallet") {
    const paymentInformation = { paymentAddress: address.trim(), chain };
    return { type: "wallet", value: { currencies: ["USDC", "USDT"], paymentInformation } };
  }
  const number =
    way === "iban"
      ? { iban: iban.trim() }
      : { accountNumber: account.trim(), routingNumber: routing.trim() };
  const paymentInformation = { accountName: holder.trim(), ...number };
  return { type: "bank-account", value: { currencies: [currency], paymentInformation } };
}

/** "1234,5" and "1.234,50" too; null where it is no number or could be two, as "1,234". */
function toPlain(text: string): string | null {
  const typed = text.trim().replace(/[.,]$/, "");
  if (NUMBER.test(typed)) return typed;
  const format = findFormat([typed]);
  const plain = format && toPlainAmount(typed, format);
  return plain !== null && NUMBER.test(plain) ? plain : null;
}
const NUMBER = /^\d+(?:\.\d+)?$/;

/** "99.9" in USD is "9990"; null when it is no amount of the currency. */
function toMinor(text: string, currency: string): string | null {
  const { maximumFractionDigits: digits = 2 } = digitsOf(currency.toLowerCase());
  const found = /^(\d{1,13})(?:\.(\d+))?$/.exec(toPlain(text) ?? "");
  if (!found) return null;
  const [, whole = "", part = ""] = found;
  if (part.length > digits) return null;
  return String(BigInt(whole + part.padEnd(digits, "0")));
}

/** To look at while writing; the service computes what counts. */
export function totalsOf({ items, currency }: Draft): { net: string; tax: string; total: string } {
  const minor = items.map((item) => {
    const price = Number(toMinor(item.price, currency) ?? 0);
    const net = Math.round(price * Number(toPlain(item.quantity) ?? 0));
    return { net, tax: Math.round((net * Number(toPlain(item.tax) ?? 0)) / 100) };
  });
  const net = minor.reduce((sum, item) => sum + item.net, 0);
  const tax = minor.reduce((sum, item) => sum + item.tax, 0);
  const text = (value: number) => fromMinor(String(value), currency.toLowerCase());
  return { net: text(net), tax: text(tax), total: text(net + tax) };
}

/** Numbers that cannot be read, by the name of their field in the API. */
export function unreadable({ items, currency }: Draft): FieldError[] {
  return items.flatMap((item, at) => {
    const isRead = {
      quantity: toPlain(item.quantity) !== null,
      unitPrice: toMinor(item.price, currency) !== null,
      "tax.amount": toPlain(item.tax) !== null,
    };
    const typed = { quantity: item.quantity, unitPrice: item.price, "tax.amount": item.tax };
    return (Object.keys(typed) as (keyof typeof typed)[])
      .filter((name) => typed[name].trim() !== "" && !isRead[name])
      .map((name) => ({
        field: `invoiceItems[${at}].${name}`,
        code: "record_invalid",
        message: "Write it as 1234.5 or 1234,5.",
      }));
  });
}

/** The problems of those fields that are still as they were sent. */
export function remaining(
  problems: readonly FieldError[],
  sent: NewInvoice | undefined,
  now: NewInvoice,
): FieldError[] {
  return problems.filter(({ field }) => {
    const paths = field.endsWith(".paymentDetailId")
      ? ["iban", "accountNumber"].map((name) => field.replace(/paymentDetailId$/, name))
      : [field];
    return paths.every((path) => valueAt(sent, path) === valueAt(now, path));
  });
}

/** As text, to be compared. */
function valueAt(invoice: unknown, path: string): string | undefined {
  const found = path
    .split(/[.[\]]+/)
    .filter(Boolean)
    .reduce<unknown>(
      (value, key) => (value as Record<string, unknown> | undefined)?.[key],
      invoice,
    );
  return JSON.stringify(found);
}

/** The fields that the form shows, each with its own problem. */
const SHOWN = [
  /^(?:invoiceNumber|buyerInfo\.(?:email|businessName)|paymentTerms\.dueDate)$/,
  /^invoiceItems\[\d+\]\.(?:name|quantity|unitPrice|tax\.amount)$/,
  /\.paymentInformation\.(?:paymentAddress|accountName|iban|accountNumber|routingNumber)$/,
  /\.paymentInformation\.paymentDetailId$/,
];

export function isShown({ field }: FieldError): boolean {
  return SHOWN.some((pattern) => pattern.test(field));
}

/** A problem beside its field: the API's sentence names the field, which is not needed here. */
export function sayProblem({ field, code, message }: FieldError): string {
  if (field.endsWith(".paymentDetailId")) return "Enter the account.";
  return code === "parameter_missing" ? "This is needed." : message;
}
