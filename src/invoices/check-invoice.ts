import { TOKEN_DIGITS } from "../catalogue/chains.ts";
import { minorDigits } from "../catalogue/currencies.ts";
import { readMetadata } from "../catalogue/metadata.ts";
import { isBlank, lowerAscii, upperAscii } from "../catalogue/text.ts";
import { DAY_MS } from "../platform/durations.ts";
import type { Problem } from "../platform/errors.ts";
import {
  DECIMAL_CHARACTERS_MAX,
  decimalToNumber,
  parseDecimal,
  powerOfTen,
  splitNumber,
} from "../platform/money.ts";
import { chainOf, checkParties, checkPaymentOptions } from "./check-parties.ts";
import type { InvoiceDocument, InvoiceItem, Miscellaneous, PaymentTerms } from "./document.ts";
import { INVOICE_FORMATS, type InvoiceFormat } from "./model.ts";
import { compactObject, type Fields, listOf, objectOf, readFields } from "./read-fields.ts";
import { occurrenceFrom, parseRecurrence, type Recurrence, refuseCount } from "./recurrence.ts";
import { isNegative, percentOf, TOTAL_MAX, type Totals, totalsOf } from "./totals.ts";

/** A new invoice, as far as it can be checked without the database. */
export type CheckedInvoice = Totals & {
  format: InvoiceFormat;
  document: InvoiceDocument;
  currency: string;
  creation_date: Date;
  due_at: Date | null;
  /** Set for templates only. */
  next_occurrence_at: Date | null;
  is_payable: boolean;
};

const DEFAULT_VERSION = "0.0.3";
const NUMBER_MAX = 60;
const SHORT_MAX = 100;
const NAME_MAX = 200;
const LONG_TEXT_MAX = 5_000;
const TAG_MAX = 50;
const QUANTITY_MAX = 10n ** 12n;
export const QUANTITY_DECIMALS_MAX = 12;
const PERCENT_DECIMALS_MAX = 6;
const TIME = /^\d{4}-\d{2}-\d{2}(T\d{2}:\d{2}(:\d{2}(\.\d{1,9})?)?(Z|[+-]\d{2}:\d{2}))?$/;

/** Reports all problems of a new invoice at once; if there are any, the result is meaningless. */
export function checkInvoice(
  body: unknown,
  already: readonly Problem[],
  now: Date,
): { checked: CheckedInvoice; problems: readonly Problem[] } {
  const fields = readFields(already);
  const input = objectOf(body);
  const format = readFormat(fields, input.meta);
  const items = listOf(input.invoiceItems).map((item, index) =>
    readItem(fields, `invoiceItems[${index}]`, objectOf(item)),
  );
  const currency = readCurrency(fields, items);
  const { buyer, seller } = checkParties(fields, input, format === "svc_salary");
  const text = (name: string, limit: number, lines = false) =>
    fields.text(name, input[name], limit, lines);
  const creation = readTime(fields, "creationDate", input.creationDate);
  const terms = readTerms(fields, objectOf(input.paymentTerms));
  const rule = text("recurringRule", LONG_TEXT_MAX, true);
  const { recurrence, next } = readRule(fields, rule, now);
  const document = compactObject({
    version: fields.text("meta.version", objectOf(input.meta).version, 20) ?? DEFAULT_VERSION,
    invoiceNumber: text("invoiceNumber", NUMBER_MAX) ?? "",
    creationDate: (creation ?? now).toISOString(),
    invoiceItems: items,
    buyerInfo: buyer,
    sellerInfo: seller,
    paymentTerms: Object.keys(terms.document).length > 0 ? terms.document : undefined,
    paymentOptions: checkPaymentOptions(fields, input.paymentOptions),
    note: text("note", LONG_TEXT_MAX, true),
    terms: text("terms", LONG_TEXT_MAX, true),
    purchaseOrderId: text("purchaseOrderId", SHORT_MAX),
    tags: readTags(fields, input.tags),
    recurringRule: recurrence?.text,
    miscellaneous: readMiscellaneous(fields, input.miscellaneous),
  }) as InvoiceDocument;
  if (document.invoiceNumber === "") fields.missing("invoiceNumber");
  if (recurrence && input.convert === true) {
    const message =
      "Each occurrence of a recurring invoice becomes payable by itself; leave `convert` out.";
    fields.report("convert", "record_invalid", message);
  }
  const checked = {
    ...readTotals(fields, items),
    format,
    document,
    currency,
    creation_date: creation ?? now,
    due_at: terms.due_at,
    next_occurrence_at: next,
    is_payable: input.convert === true,
  };
  return { checked, problems: fields.problems };
}

function readFormat(fields: Fields, meta: unknown): InvoiceFormat {
  const given = fields.text("meta.format", objectOf(meta).format, SHORT_MAX);
  const format = INVOICE_FORMATS.find((known) => known === (given ?? "svc_invoice"));
  if (format) return format;
  const message = `Send one of ${INVOICE_FORMATS.join(", ")}.`;
  fields.report("meta.format", "record_invalid", message);
  return "svc_invoice";
}

function readItem(fields: Fields, field: string, input: Record<string, unknown>): InvoiceItem {
  const text = (name: string, limit: number) => fields.text(`${field}.${name}`, input[name], limit);
  const digits = (name: string) => fields.digits(`${field}.${name}`, input[name]);
  const unitPrice = digits("unitPrice");
  if (unitPrice === undefined) fields.missing(`${field}.unitPrice`);
  const currency = readItemCurrency(fields, `${field}.currency`, input.currency);
  const item = compactObject({
    name: text("name", NAME_MAX * 2),
    currency,
    quantity: readQuantity(fields, `${field}.quantity`, input.quantity),
    unitPrice: unitPrice ?? "0",
    discount: digits("discount"),
    tax: readTax(fields, `${field}.tax`, input.tax),
    reference: text("reference", SHORT_MAX),
    deliveryDate: text("deliveryDate", SHORT_MAX),
    deliveryPeriod: text("deliveryPeriod", SHORT_MAX),
  }) as InvoiceItem;
  if (isNegative(item)) {
    const message = "The discount must not be higher than the amount of the item.";
    fields.report(`${field}.discount`, "record_invalid", message);
  }
  return item;
}

/** Fiat in upper case; the two stablecoins alone or with their network, e.g. USDC-matic. */
function readItemCurrency(fields: Fields, field: string, value: unknown): string {
  const text = fields.text(field, value, SHORT_MAX);
  if (text === undefined) {
    fields.missing(field);
    return "";
  }
  const [symbol = "", ...network] = text.split("-");
  const currency = [upperAscii(symbol), ...network.map(lowerAscii)].join("-");
  if (digitsOf(currency) === undefined) {
    fields.report(field, "record_invalid", "Send an ISO 4217 currency code, e.g. USD.");
  } else if (network.length > 0 && chainOf(network.join("-")) === undefined) {
    const message = "Send a token with a supported network, e.g. USDC-matic.";
    fields.report(field, "record_invalid", message);
  }
  return currency;
}

/** The number of decimals of an invoice currency. */
export function digitsOf(currency: string): number | undefined {
  if (/^USD[CT](-[a-z0-9]+)*$/.test(currency)) return TOKEN_DIGITS;
  return /^[A-Z]{3}$/.test(currency) ? minorDigits(lowerAscii(currency)) : undefined;
}

/** The currency that all items share. */
function readCurrency(fields: Fields, items: readonly InvoiceItem[]): string {
  const [first] = items;
  items.forEach((item, index) => {
    if (item.currency === "" || first?.currency === "" || item.currency === first?.currency) return;
    const message = `Send ${first?.currency}, the currency of the first item.`;
    fields.report(`invoiceItems[${index}].currency`, "record_invalid", message);
  });
  return first?.currency ?? "";
}

function readQuantity(fields: Fields, field: string, value: unknown): number {
  if (value === undefined || value === null || value === "") {
    fields.missing(field);
    return 0;
  }
  const refuse = (message: string) => {
    fields.report(field, "record_invalid", message);
    return 0;
  };
  const text = String(value);
  if (text.length > DECIMAL_CHARACTERS_MAX) {
    return refuse(`Send at most ${DECIMAL_CHARACTERS_MAX} characters.`);
  }
  const is_plain = typeof value === "number" || parseDecimal(text) !== undefined;
  const parts = is_plain ? splitNumber(text) : undefined;
  if (!parts || parts.negative) return refuse("Send a number that is 0 or more.");
  const { digits, exponent } = parts;
  if (digits.length > 15 || -exponent > QUANTITY_DECIMALS_MAX || exponent > 12) {
    return refuse(`Send at most 15 digits, ${QUANTITY_DECIMALS_MAX} of them after the point.`);
  }
  const units = BigInt(digits || "0");
  if (exponent >= 0 && units * powerOfTen(exponent) > QUANTITY_MAX) {
    return refuse("Send a smaller quantity.");
  }
  return exponent >= 0
    ? Number(units * powerOfTen(exponent))
    : decimalToNumber({ units, scale: -exponent });
}

function readTax(fields: Fields, field: string, value: unknown): InvoiceItem["tax"] {
  if (value === undefined || value === null) return undefined;
  const { type, amount } = objectOf(value);
  const text = typeof amount === "string" ? amount : "";
  if (isBlank(text)) {
    fields.missing(`${field}.amount`);
    return undefined;
  }
  if (type !== "percentage") {
    const digits = fields.digits(`${field}.amount`, text);
    return digits === undefined ? undefined : { type: "fixed", amount: digits };
  }
  const percent = text.length > 20 ? undefined : percentOf(text);
  if (!percent || percent.scale > PERCENT_DECIMALS_MAX || percent.units > 10n ** 12n) {
    const message = "Send the percentage as a plain decimal, e.g. 20 or 7.7.";
    fields.report(`${field}.amount`, "record_invalid", message);
    return undefined;
  }
  return { type: "percentage", amount: text };
}

function readTotals(fields: Fields, items: readonly InvoiceItem[]): Totals {
  if (fields.problems.length > 0) return { total: 0n, total_without_tax: 0n };
  const totals = totalsOf(items);
  if (totals.total > TOTAL_MAX) {
    const message = "Send items with a total of at most 15 digits.";
    fields.report("invoiceItems", "record_invalid", message);
  }
  return totals;
}

function readTime(fields: Fields, field: string, value: unknown): Date | undefined {
  const text = fields.text(field, value, SHORT_MAX);
  if (text === undefined) return undefined;
  const date = parseTime(text);
  if (date) return date;
  const message = "Send an ISO 8601 time such as 2026-11-15T09:30:00Z.";
  fields.report(field, "record_invalid", message);
  return undefined;
}

/** A real date of this century or the last, with or without a time. */
export function parseTime(text: string): Date | undefined {
  const day = text.slice(0, 10);
  const date = new Date(text);
  const midnight = new Date(`${day}T00:00:00Z`);
  if (!TIME.test(text) || Number.isNaN(date.getTime()) || Number.isNaN(midnight.getTime())) {
    return undefined;
  }
  const year = date.getUTCFullYear();
  // JavaScript parses 30 February as a day in March.
  return midnight.toISOString().startsWith(day) && year >= 1900 && year < 2200 ? date : undefined;
}

function readTerms(
  fields: Fields,
  input: Record<string, unknown>,
): { document: PaymentTerms; due_at: Date | null } {
  const field = "paymentTerms";
  const dueDate = fields.text(`${field}.dueDate`, input.dueDate, SHORT_MAX);
  const date = readTime(fields, `${field}.dueDate`, input.dueDate);
  const percent = input.lateFeesPercent;
  if (typeof percent === "number" && !(percent >= 0 && percent <= 1000)) {
    const message = "Send a percentage from 0 to 1000.";
    fields.report(`${field}.lateFeesPercent`, "record_invalid", message);
  }
  // A date without a time is the last day to pay: all of it.
  const whole_day_ms = dueDate?.length === 10 ? DAY_MS : 0;
  const document = compactObject({
    dueDate,
    lateFeesPercent: typeof percent === "number" ? percent : undefined,
    lateFeesFix: fields.digits(`${field}.lateFeesFix`, input.lateFeesFix),
    miscellaneous: fields.text(`${field}.miscellaneous`, input.miscellaneous, LONG_TEXT_MAX, true),
  }) as PaymentTerms;
  return { document, due_at: date ? new Date(date.getTime() + whole_day_ms) : null };
}

/**
 * The rule and its first occurrence on the day of creation or later; earlier occurrences are not
 * created.
 */
function readRule(
  fields: Fields,
  rule: string | undefined,
  now: Date,
): { recurrence: Recurrence | null; next: Date | null } {
  if (rule === undefined) return { recurrence: null, next: null };
  const parsed = parseRecurrence(rule, now);
  const reason = "value" in parsed ? refuseCount(parsed.value, now) : parsed.reason;
  if (!("value" in parsed) || reason !== null) {
    fields.report("recurringRule", "record_invalid", reason!);
    return { recurrence: null, next: null };
  }
  const recurrence = parsed.value;
  const today = new Date(`${now.toISOString().slice(0, 10)}T00:00:00.000Z`);
  const next = occurrenceFrom(recurrence, today);
  if (!next) {
    const message = "The rule has no occurrence in the next ten years; correct it.";
    fields.report("recurringRule", "record_invalid", message);
  }
  return { recurrence, next };
}

function readTags(fields: Fields, value: unknown): string[] | undefined {
  const tags = listOf(value).flatMap(
    (tag, index) => fields.text(`tags[${index}]`, tag, TAG_MAX) ?? [],
  );
  return tags.length > 0 ? [...new Set(tags)] : undefined;
}

/** The caller's own keys, and `notifications.creation`, the only nested one. */
function readMiscellaneous(fields: Fields, value: unknown): Miscellaneous | undefined {
  const { notifications = null, ...rest } = objectOf(value);
  const metadata = readMetadata(value && rest, "miscellaneous", fields.report);
  if (notifications === null) return metadata ?? undefined;
  const { creation, ...others } = objectOf(notifications);
  if (typeof creation === "boolean" && Object.keys(others).length === 0) {
    return { ...metadata, notifications: { creation } };
  }
  const message = 'Send { "creation": true } or false.';
  fields.report("miscellaneous.notifications", "record_invalid", message);
  return undefined;
}
