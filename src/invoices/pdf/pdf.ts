import PDFDocument from "pdfkit";
import { countryName } from "../../catalogue/countries.ts";
import { type InvoiceItem, type PartyInfo, partyName } from "../document.ts";
import { type Invoice, STATUS_WORDS } from "../model.ts";
import { type Doc, fontsOf, openFonts } from "./document-fonts.ts";
import type { PrintedInvoice } from "./load-pdf.ts";
import { linesOf, setFont, writeLines, writeText } from "./pdf-text.ts";
import { printItem, printTerms, printTotals } from "./printed-lines.ts";
import { cleanTexts, textsOf, withGlyphs } from "./printed-text.ts";
import { hanFamilyOf } from "./script-fonts.ts";
import type { TextLine } from "./text-layout.ts";

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

/** The invoice as a PDF: one page, or more where its items need them. */
export async function writePdf(given: PrintedInvoice): Promise<Doc> {
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
  const cleaned = cleanTexts(given);
  const { sellerInfo, buyerInfo } = cleaned.invoice.document;
  const countries = [sellerInfo.address?.country, buyerInfo.address?.country];
  await openFonts(doc, textsOf(cleaned), hanFamilyOf(countries));
  const printed = withGlyphs(cleaned, fontsOf(doc).hasGlyph);
  const { invoice } = printed;
  writeHead(doc, invoice, title);
  writeParties(doc, invoice);
  writeItems(doc, invoice);
  writeTotals(doc, invoice);
  writeWaysToPay(doc, printed);
  writeFreeText(doc, "Note", invoice.document.note ?? "");
  writeFreeText(doc, "Terms", printTerms(invoice));
  writeFeet(doc, `${title} ${invoice.document.invoiceNumber}`);
  doc.end();
  return doc;
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
    font(doc, "bold", 9, INK);
    writeText(doc, value, label_x + 60, y, { width: HALF - 60, align: "right" });
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
    font(doc, "bold", 10, INK);
    writeText(doc, partyName(party), x, doc.y + 4, { width });
    font(doc, "regular", 9, INK);
    writeText(doc, partyLines(party).join("\n"), x, doc.y + 2, { width, gap: 1.5 });
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
  const shown = partyName(party);
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

/** Fractions of the width; the columns after the first contain numbers. */
const COLUMNS: readonly { title: string; x: number; width: number }[] = [
  { title: "Description", x: 0, width: 0.42 },
  { title: "Quantity", x: 0.42, width: 0.12 },
  { title: "Unit price", x: 0.54, width: 0.17 },
  { title: "Tax", x: 0.71, width: 0.11 },
  { title: "Amount", x: 0.82, width: 0.18 },
];
/** Between the lines of a description. */
const LINE_GAP = 1;

function writeItems(doc: Doc, invoice: Invoice): void {
  writeHeadings(doc);
  for (const item of invoice.document.invoiceItems) {
    font(doc, "regular", 9, INK);
    const [description, ...numbers] = cellsOf(item);
    const lines = linesOf(doc, description!, COLUMNS[0]!.width * WIDTH - 6);
    const height = lines.length * (doc.currentLineHeight(true) + LINE_GAP) + 12;
    if (doc.y + height > BOTTOM) {
      newPage(doc);
      writeHeadings(doc);
      font(doc, "regular", 9, INK);
    }
    writeRow(doc, lines, numbers);
    rule(doc, RULE);
  }
}

function writeHeadings(doc: Doc): void {
  font(doc, "bold", 8, MUTED);
  const [first, ...numbers] = COLUMNS.map(({ title }) => title);
  writeRow(doc, linesOf(doc, first!, WIDTH), numbers);
  rule(doc, INK);
}

function cellsOf(item: InvoiceItem): string[] {
  const { name, details, quantity, unit_price, tax, amount } = printItem(item);
  return [[name, ...details].join("\n"), quantity, unit_price, tax, amount];
}

/** Reduces the font size until the text fits on one line: a number is never broken. */
function shrinkToFit(doc: Doc, text: string, width: number): void {
  const needed = doc.widthOfString(text);
  // Slightly less, since widths are rounded.
  if (needed > width) doc.fontSize((currentSize(doc) * width * 0.99) / needed);
}

function currentSize(doc: Doc): number {
  return (doc as unknown as { _fontSize: number })._fontSize;
}

/** In the current font. Only the description may have several lines. */
function writeRow(doc: Doc, description: readonly TextLine[], numbers: readonly string[]): void {
  const top = doc.y + 6;
  const size = currentSize(doc);
  writeLines(doc, description, MARGIN, top, { width: WIDTH, gap: LINE_GAP });
  const bottom = doc.y + 6;
  numbers.forEach((number, at) => {
    const { x, width: share } = COLUMNS[at + 1]!;
    const width = share * WIDTH - 6;
    shrinkToFit(doc, number, width);
    writeText(doc, number, MARGIN + x * WIDTH + 6, top, { width, align: "right" });
    doc.fontSize(size);
  });
  doc.y = bottom;
}

function writeTotals(doc: Doc, invoice: Invoice): void {
  const { subtotal, tax, total } = printTotals(invoice);
  const rows: [string, string][] = [
    ["Subtotal", subtotal],
    ["Tax", tax],
  ];
  ensureSpace(doc, 80);
  doc.y += 10;
  const x = RIGHT_HALF;
  const width = HALF;
  for (const [label, amount] of rows) {
    const y = doc.y;
    font(doc, "regular", 9, MUTED).text(label, x, y, { width: width * 0.4 });
    font(doc, "regular", 9, INK).text(amount, x, y, { width, align: "right" });
    doc.y += 4;
  }
  const y = doc.y + 4;
  font(doc, "bold", 12, INK).text("Total", x, y, { width: width * 0.3 });
  font(doc, "bold", 12, ACCENT);
  shrinkToFit(doc, total, width * 0.8);
  doc.text(total, x, y, { width, align: "right" });
  doc.y += 22;
}

function writeWaysToPay(doc: Doc, { ways_to_pay }: PrintedInvoice): void {
  for (const { title, lines } of ways_to_pay) {
    ensureSpace(doc, 30 + lines.length * 15);
    font(doc, "bold", 9, INK).text(`Pay to: ${title}`, MARGIN, doc.y, { width: WIDTH });
    doc.y += 3;
    for (const [label, value] of lines) {
      const y = doc.y;
      font(doc, "regular", 9, MUTED).text(label, MARGIN, y, { width: 110 });
      font(doc, "regular", 9, INK);
      writeText(doc, value, MARGIN + 110, y, { width: WIDTH - 110 });
      doc.y += 2;
    }
    doc.y += 10;
  }
}

/** Free text; a long one continues over as many pages as it needs, line by line. */
function writeFreeText(doc: Doc, title: string, text: string): void {
  if (!text) return;
  ensureSpace(doc, 40);
  font(doc, "bold", 9, INK).text(title, MARGIN, doc.y, { width: WIDTH });
  font(doc, "regular", 9, INK);
  writeText(doc, text, MARGIN, doc.y + 3, {
    width: WIDTH,
    align: "start",
    gap: 1.5,
    beforeLine: (height) => ensureSpace(doc, height),
  });
  doc.y += 10;
}

/** On every page, once the number of pages is known. */
function writeFeet(doc: Doc, name: string): void {
  const { start, count } = doc.bufferedPageRange();
  for (let page = start; page < start + count; page += 1) {
    doc.switchToPage(page);
    // The footer is in the bottom margin, where text would begin a new page.
    doc.page.margins.bottom = 0;
    const y = BOTTOM + 16;
    font(doc, "regular", 8, MUTED);
    const [first] = linesOf(doc, name, WIDTH * 0.75);
    writeLines(doc, first ? [first] : [], MARGIN, y, { width: WIDTH });
    if (count === 1) continue;
    const number = `${page - start + 1} / ${count}`;
    writeText(doc, number, MARGIN, y, { width: WIDTH, align: "right" });
  }
}

function ensureSpace(doc: Doc, height: number): void {
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
  return setFont(doc, name, size).fillColor(color);
}

function dayOf(iso: string): string {
  return iso.slice(0, 10);
}
