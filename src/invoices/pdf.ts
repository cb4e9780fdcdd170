import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import PDFDocument from "pdfkit";
import { countryName } from "../catalogue/countries.ts";
import { digitsOf } from "./check-invoice.ts";
import { type InvoiceItem, nameOf, type PartyInfo } from "./document.ts";
import type { PrintedInvoice } from "./load-pdf.ts";
import { type Invoice, STATUS_WORDS } from "./model.ts";
import { type Face, formatMoney, formatQuantity, withGlyphs } from "./printed-text.ts";
import { lineNet } from "./totals.ts";

type Doc = InstanceType<typeof PDFDocument>;

// A4 in points.
const MARGIN = 56;
const WIDTH = 595.28 - 2 * MARGIN;
const BOTTOM = 841.89 - MARGIN - 24;
/** Two columns with a gap between them. */
const HALF = WIDTH / 2 - 12;
const RIGHT_HALF = MARGIN + WIDTH / 2 + 12;
const INK = "#1a1f29";
const MUTED = "#5d6675";
const RULE = "#d5dae2";
const ACCENT = "#1d5bb8";
const FONTS = "dejavu-fonts-ttf/ttf";

let fonts: { regular: Buffer; bold: Buffer } | undefined;

/** An invoice as a person would send it: one page, or more where its items need them. */
export function writePdf(given: PrintedInvoice): Doc {
  const title = titleOf(given.invoice);
  const doc = new PDFDocument({
    size: "A4",
    margins: { top: MARGIN, left: MARGIN, right: MARGIN, bottom: 841.89 - BOTTOM },
    bufferPages: true,
    lang: "en",
    // The same invoice is the same file, byte for byte.
    info: {
      Title: `${title} ${given.invoice.document.invoiceNumber}`,
      CreationDate: given.invoice.updated_at,
      ModDate: given.invoice.updated_at,
    },
  });
  fonts ??= { regular: readFont("DejaVuSans.ttf"), bold: readFont("DejaVuSans-Bold.ttf") };
  doc.registerFont("regular", fonts.regular);
  doc.registerFont("bold", fonts.bold);
  const printed = withGlyphs(given, glyphsOf(doc));
  const { invoice } = printed;
  writeHead(doc, invoice, title);
  writeParties(doc, invoice);
  writeItems(doc, invoice);
  writeTotals(doc, invoice);
  writeWaysToPay(doc, printed);
  const { note, terms, paymentTerms } = invoice.document;
  writeText(doc, "Note", note);
  writeText(doc, "Terms", [terms, paymentTerms?.miscellaneous].filter(Boolean).join("\n"));
  writeFeet(doc, `${title} ${invoice.document.invoiceNumber}`);
  doc.end();
  return doc;
}

function readFont(name: string): Buffer {
  return readFileSync(fileURLToPath(import.meta.resolve(`${FONTS}/${name}`)));
}

function titleOf(invoice: Invoice): string {
  return invoice.format === "svc_salary" ? "Salary" : "Invoice";
}

function writeHead(doc: Doc, invoice: Invoice, title: string): void {
  const { document } = invoice;
  font(doc, "bold", 22, INK).text(title, MARGIN, MARGIN, { width: WIDTH * 0.5 });
  font(doc, "regular", 10, MUTED).text(STATUS_WORDS[invoice.status], { width: WIDTH * 0.5 });
  const left_end = doc.y;
  const facts: [string, string | undefined][] = [
    ["Number", document.invoiceNumber],
    ["Date", dayOf(document.creationDate)],
    ["Due", document.paymentTerms?.dueDate && dayOf(document.paymentTerms.dueDate)],
    ["Order", document.purchaseOrderId],
  ];
  doc.y = MARGIN + 4;
  const label_x = RIGHT_HALF;
  for (const [label, value] of facts) {
    if (!value) continue;
    const y = doc.y;
    font(doc, "regular", 9, MUTED).text(label, label_x, y, { width: 60 });
    font(doc, "bold", 9, INK).text(value, label_x + 60, y, {
      width: HALF - 60,
      align: "right",
    });
    doc.y += 3;
  }
  doc.y = Math.max(doc.y, left_end) + 22;
}

function writeParties(doc: Doc, invoice: Invoice): void {
  const { sellerInfo, buyerInfo } = invoice.document;
  const is_salary = invoice.format === "svc_salary";
  const top = doc.y;
  const width = HALF;
  const write = (label: string, party: PartyInfo, x: number) => {
    font(doc, "regular", 8, MUTED).text(label.toUpperCase(), x, top, {
      width,
      characterSpacing: 0.6,
    });
    font(doc, "bold", 10, INK).text(nameOf(party), x, doc.y + 4, { width });
    font(doc, "regular", 9, INK).text(partyLines(party).join("\n"), x, doc.y + 2, {
      width,
      lineGap: 1.5,
    });
    return doc.y;
  };
  const left_end = write(is_salary ? "Employee" : "From", sellerInfo, MARGIN);
  const right_end = write(is_salary ? "Employer" : "Bill to", buyerInfo, RIGHT_HALF);
  doc.y = Math.max(left_end, right_end) + 22;
}

function partyLines(party: PartyInfo): string[] {
  const { address = {} } = party;
  const person = [party.firstName, party.lastName].filter(Boolean).join(" ");
  const place = [address.postalCode, address.city].filter(Boolean).join(" ");
  const country = address.country && countryName(address.country);
  const land = [address.region, country].filter(Boolean).join(", ");
  const shown = nameOf(party);
  const lines = [
    person !== shown ? person : "",
    address.streetAddress,
    address.extendedAddress,
    place,
    land,
    party.email !== shown ? party.email : "",
    party.phone,
    party.taxRegistration && `Tax no. ${party.taxRegistration}`,
    party.companyRegistration && `Reg. no. ${party.companyRegistration}`,
  ];
  return lines.flatMap((line) => line || []);
}

type Column = { title: string; x: number; width: number; align: "left" | "right" };

const COLUMNS: readonly Column[] = [
  { title: "Description", x: 0, width: 0.42, align: "left" },
  { title: "Quantity", x: 0.42, width: 0.12, align: "right" },
  { title: "Unit price", x: 0.54, width: 0.17, align: "right" },
  { title: "Tax", x: 0.71, width: 0.11, align: "right" },
  { title: "Amount", x: 0.82, width: 0.18, align: "right" },
];

function writeItems(doc: Doc, invoice: Invoice): void {
  writeRow(
    doc,
    COLUMNS.map(({ title }) => title),
    true,
  );
  for (const item of invoice.document.invoiceItems) {
    const cells = cellsOf(item);
    const height = rowHeight(doc, cells);
    if (doc.y + height > BOTTOM) {
      newPage(doc);
      writeRow(
        doc,
        COLUMNS.map(({ title }) => title),
        true,
      );
    }
    writeRow(doc, cells, false);
  }
}

function cellsOf(item: InvoiceItem): string[] {
  const digits = digitsOf(item.currency)!;
  const money = (minor: string | bigint) => formatMoney(BigInt(minor), digits);
  const below = [
    item.reference && `Ref. ${item.reference}`,
    item.deliveryDate && `Delivered ${item.deliveryDate}`,
    item.deliveryPeriod,
    item.discount && item.discount !== "0" && `Discount ${money(item.discount)}`,
  ];
  const tax =
    item.tax?.type === "percentage" ? `${item.tax.amount} %` : item.tax && money(item.tax.amount);
  return [
    [item.name ?? "Item", ...below].filter(Boolean).join("\n"),
    formatQuantity(item.quantity),
    money(item.unitPrice),
    tax ?? "–",
    money(lineNet(item)),
  ];
}

/** Numbers keep to one line: see `shrinkToFit`. */
function rowHeight(doc: Doc, cells: readonly string[]): number {
  font(doc, "regular", 9, INK);
  const heights = cells.map((cell, at) => {
    const { width, align } = COLUMNS[at]!;
    const shown = align === "right" ? "0" : cell;
    return doc.heightOfString(shown, { width: width * WIDTH - 6, lineGap: 1 });
  });
  return Math.max(...heights) + 12;
}

/** Makes the letters as small as the text needs to stand on one line: a number is never broken. */
function shrinkToFit(doc: Doc, text: string, width: number): void {
  const needed = doc.widthOfString(text);
  // A little less than it needs, since widths are rounded.
  if (needed > width) doc.fontSize((currentSize(doc) * width * 0.99) / needed);
}

function currentSize(doc: Doc): number {
  return (doc as unknown as { _fontSize: number })._fontSize;
}

function writeRow(doc: Doc, cells: readonly string[], is_head: boolean): void {
  const height = rowHeight(doc, cells);
  const top = doc.y;
  cells.forEach((cell, at) => {
    const { x, width, align } = COLUMNS[at]!;
    font(doc, is_head ? "bold" : "regular", is_head ? 8 : 9, is_head ? MUTED : INK);
    // Numbers end at the margin, texts begin there.
    const inset = align === "right" ? 6 : 0;
    if (align === "right") shrinkToFit(doc, cell, width * WIDTH - 6);
    doc.text(cell, MARGIN + x * WIDTH + inset, top + 6, {
      width: width * WIDTH - 6,
      align,
      lineGap: 1,
    });
  });
  doc.y = top + height;
  rule(doc, is_head ? INK : RULE);
}

function writeTotals(doc: Doc, invoice: Invoice): void {
  const { total, total_without_tax, currency } = invoice;
  const digits = digitsOf(currency)!;
  const rows: [string, bigint][] = [
    ["Subtotal", total_without_tax],
    ["Tax", total - total_without_tax],
  ];
  ensureRoom(doc, 80);
  doc.y += 10;
  const x = RIGHT_HALF;
  const width = HALF;
  for (const [label, minor] of rows) {
    const y = doc.y;
    font(doc, "regular", 9, MUTED).text(label, x, y, { width: width * 0.4 });
    font(doc, "regular", 9, INK).text(formatMoney(minor, digits), x, y, { width, align: "right" });
    doc.y += 4;
  }
  const y = doc.y + 4;
  font(doc, "bold", 12, INK).text("Total", x, y, { width: width * 0.3 });
  const amount = `${formatMoney(total, digits)} ${currency}`;
  font(doc, "bold", 12, ACCENT);
  shrinkToFit(doc, amount, width * 0.8);
  doc.text(amount, x, y, { width, align: "right" });
  doc.y += 22;
}

function writeWaysToPay(doc: Doc, { ways_to_pay }: PrintedInvoice): void {
  for (const { title, lines } of ways_to_pay) {
    ensureRoom(doc, 30 + lines.length * 15);
    font(doc, "bold", 9, INK).text(`Pay to: ${title}`, MARGIN, doc.y, { width: WIDTH });
    doc.y += 3;
    for (const [label, value] of lines) {
      const y = doc.y;
      font(doc, "regular", 9, MUTED).text(label, MARGIN, y, { width: 110 });
      font(doc, "regular", 9, INK).text(value, MARGIN + 110, y, { width: WIDTH - 110 });
      doc.y += 2;
    }
    doc.y += 10;
  }
}

/** Free text; a long one flows over as many pages as it needs, line by line. */
function writeText(doc: Doc, title: string, text: string | undefined): void {
  if (!text) return;
  ensureRoom(doc, 40);
  font(doc, "bold", 9, INK).text(title, MARGIN, doc.y, { width: WIDTH });
  doc.y += 3;
  font(doc, "regular", 9, INK);
  for (const line of text.split("\n")) {
    ensureRoom(doc, Math.min(doc.heightOfString(line || " ", { width: WIDTH }), 200) + 2);
    font(doc, "regular", 9, INK).text(line || " ", MARGIN, doc.y, { width: WIDTH, lineGap: 1.5 });
  }
  doc.y += 10;
}

/** On every page, once it is known how many there are. */
function writeFeet(doc: Doc, name: string): void {
  const { start, count } = doc.bufferedPageRange();
  for (let page = start; page < start + count; page += 1) {
    doc.switchToPage(page);
    // The foot stands in the margin, which would else begin a new page.
    doc.page.margins.bottom = 0;
    const y = BOTTOM + 16;
    const options = { width: WIDTH, lineBreak: false, height: 12, ellipsis: true } as const;
    font(doc, "regular", 8, MUTED).text(name, MARGIN, y, { ...options, width: WIDTH * 0.75 });
    if (count === 1) continue;
    const number = `${page - start + 1} / ${count}`;
    font(doc, "regular", 8, MUTED).text(number, MARGIN, y, { ...options, align: "right" });
  }
}

function ensureRoom(doc: Doc, height: number): void {
  if (doc.y + height > BOTTOM) newPage(doc);
}

function newPage(doc: Doc): void {
  doc.addPage();
  doc.y = MARGIN;
}

function rule(doc: Doc, color: string): void {
  doc
    .moveTo(MARGIN, doc.y)
    .lineTo(MARGIN + WIDTH, doc.y)
    .lineWidth(0.6)
    .strokeColor(color)
    .stroke();
}

function font(doc: Doc, name: "regular" | "bold", size: number, color: string): Doc {
  return doc.font(name).fontSize(size).fillColor(color);
}

function dayOf(iso: string): string {
  return iso.slice(0, 10);
}

function glyphsOf(doc: Doc): Face {
  return (doc.font("regular") as unknown as { _font: { font: Face } })._font.font;
}
