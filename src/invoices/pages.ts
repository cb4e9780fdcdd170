import type { Mode } from "../platform/config/config.ts";
import { type Html, html } from "../platform/http/html.ts";
import { csrfField, page, table } from "../platform/pages/layout.ts";
import { partyName } from "./document.ts";
import { STATUS_WORDS } from "./model.ts";
import { offeredActions, type PageAction } from "./page-actions.ts";
import type { PrintedInvoice } from "./pdf/load-pdf.ts";
import { printItem, printTerms, printTotals } from "./pdf/printed-lines.ts";

/** The labels of the buttons; reject has a form of its own, which asks for a reason. */
const BUTTONS: Readonly<Record<Exclude<PageAction, "reject">, { label: string; style: string }>> = {
  accept: { label: "Accept", style: "primary wide" },
  declareSentPayment: { label: "I have paid", style: "wide" },
};

type InvoicePage = PrintedInvoice & {
  mode: Mode;
  csrf: string;
  path: string;
  /** What went wrong and what to do, after a refused action. */
  problem: string | null;
};

/** The page that a party sees behind an invoice's link. */
export function invoicePage(options: InvoicePage): Html {
  const { invoice, ways_to_pay, mode, problem } = options;
  const { document } = invoice;
  const title = invoice.format === "svc_salary" ? "Salary" : "Invoice";
  const { subtotal, tax, total } = printTotals(invoice);
  const due = document.paymentTerms?.dueDate?.slice(0, 10);
  const facts: [string, string | undefined][] = [
    ["Status", STATUS_WORDS[invoice.status]],
    [invoice.format === "svc_salary" ? "Employee" : "From", partyName(document.sellerInfo)],
    [invoice.format === "svc_salary" ? "Employer" : "For", partyName(document.buyerInfo)],
    ["Date", document.creationDate.slice(0, 10)],
    ["Due", due],
    ["Order", document.purchaseOrderId],
    ["Total", total],
  ];
  const body = html`<div class="invoice"><h1>${title} ${document.invoiceNumber}</h1>
${problem !== null && html`<p class="alert" id="problem" role="alert">${problem}</p>`}
<dl>${factsOf(facts)}</dl>
${table({
  label: "Items",
  columns: ["Item", "Quantity", "Unit price", "Tax", "Amount"],
  rows: document.invoiceItems
    .map(printItem)
    .map((item) => [
      html`<span class="lines">${[item.name, ...item.details].join("\n")}</span>`,
      item.quantity,
      item.unit_price,
      item.tax,
      item.amount,
    ]),
  empty: "This invoice has no items.",
})}
<dl>${factsOf([
    ["Subtotal", subtotal],
    ["Tax", tax],
    ["Total", total],
  ])}</dl>
${freeText("Note", document.note)}
${freeText("Terms", printTerms(invoice))}
${ways_to_pay.map(
  (way) => html`<h2>Pay to: ${way.title}</h2>
<dl>${factsOf(way.lines)}</dl>`,
)}
${forms(options)}
<p class="hint"><a href="${options.path}/pdf">Download as PDF</a></p></div>`;
  return page({ title: `${title} ${document.invoiceNumber}`, mode, session: null, body });
}

function factsOf(facts: readonly [label: string, value: string | undefined][]) {
  return facts.map(
    ([label, value]) => value && html`<div><dt>${label}</dt><dd>${value}</dd></div>`,
  );
}

/** With its line breaks and its own reading direction. */
function freeText(title: string, text: string | undefined): Html | null {
  return text ? html`<h2>${title}</h2>\n<p class="lines" dir="auto">${text}</p>` : null;
}

/** Only what the state allows; a party with an account acts there, not through the link. */
function forms({ invoice, csrf, path }: InvoicePage): Html | null {
  if (invoice.shared_with !== null) {
    return html`<p class="hint">Sign in to your account to respond to this invoice.</p>`;
  }
  return html`${offeredActions(invoice).map((type) =>
    type === "reject"
      ? rejectForm(csrf, path)
      : html`<form method="post" action="${path}">
${csrfField(csrf)}
<input type="hidden" name="type" value="${type}">
<button class="${BUTTONS[type].style}" type="submit">${BUTTONS[type].label}</button>
</form>`,
  )}`;
}

function rejectForm(csrf: string, path: string): Html {
  return html`<form method="post" action="${path}">
${csrfField(csrf)}
<input type="hidden" name="type" value="reject">
<label for="note">Reason for rejecting</label>
<input id="note" name="note" type="text" required maxlength="2000" autocomplete="off">
<button class="wide" type="submit">Reject</button>
</form>`;
}
