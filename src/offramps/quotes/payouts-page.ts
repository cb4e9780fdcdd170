import { documentPagePath } from "../../accounts/page-paths.ts";
import type { MemberSession } from "../../accounts/sign-in/sessions.ts";
import type { Proposal } from "../../approvals/model.ts";
import { PROPOSALS_PATH } from "../../approvals/page.ts";
import { RECORD_PATH } from "../../approvals/render.ts";
import type { Mode } from "../../platform/config/config.ts";
import { type Html, html } from "../../platform/http/html.ts";
import { NONE, page, table } from "../../platform/pages/layout.ts";
import { marksOf, moneyOf, type PayoutTerms, sumByPayee, totalOf } from "./quote-terms.ts";

export const ROWS_PER_PAGE = 100;

export function payoutsPath(proposal_id: string): string {
  return `${PROPOSALS_PATH}/${proposal_id}/payouts`;
}

type Shown = {
  mode: Mode;
  session: MemberSession;
  proposal: Proposal;
  terms: readonly PayoutTerms[];
  /** From 1. */
  payee_page: number;
  payout_page: number;
  may_see_documents: boolean;
};

/** Everything that a proposal to pay a quote pays: by payee, and each payout. */
export function payoutsPage(options: Shown): Html {
  const { mode, session, proposal, terms } = options;
  const live = terms.filter(({ offramp }) => offramp.status !== "failed");
  const body = html`<p><a href="${PROPOSALS_PATH}">Proposals</a></p>
<div class="heading"><h1>Payouts of a proposal</h1></div>
<p class="muted">${proposal.summary} ${live.length} payouts are left, in total ${
    totalOf(live) || "nothing"
  }.</p>
${payeeSection(options, live)}
${payoutSection(options)}`;
  return page({ title: "Payouts of a proposal", mode, session, body });
}

function payeeSection({ proposal, payee_page, payout_page }: Shown, live: readonly PayoutTerms[]) {
  const sums = sumByPayee(live);
  return html`<section class="card" aria-labelledby="payees-title">
<h2 id="payees-title">By payee and currency</h2>
${table({
  label: "Sums by payee, new payees first",
  columns: ["Payee", "Note", "Payouts", "Sum"],
  rows: cut(sums, payee_page).map((sum) => [
    sum.payee,
    noted(sum),
    String(sum.count),
    html`<span class="amount">${moneyOf(sum.amount, sum.currency)}</span>`,
  ]),
  empty: "Nothing is left to pay.",
})}
${pageLinks("Pages of payees", sums.length, payee_page, (at) => pathOf(proposal, at, payout_page))}
</section>`;
}

function payoutSection({ proposal, terms, payee_page, payout_page, may_see_documents }: Shown) {
  return html`<section class="card" aria-labelledby="payouts-title">
<h2 id="payouts-title">Payouts</h2>
${table({
  label: "All payouts, in the order in which they were added",
  columns: ["Payee", "Note", "Amount", "Reference", "Invoice", "Document", "Record"],
  rows: cut(terms, payout_page).map((one) => payoutRow(one, may_see_documents)),
  empty: "This proposal has no payouts.",
})}
${pageLinks("Pages of payouts", terms.length, payout_page, (at) =>
  pathOf(proposal, payee_page, at),
)}
</section>`;
}

function payoutRow(one: PayoutTerms, may_see_documents: boolean): (Html | string)[] {
  const { offramp } = one;
  const { id, invoice_id, document_hash, document_type, details } = offramp;
  const hash = document_hash?.toString("hex");
  const amount = moneyOf(offramp.destination_amount, offramp.destination_currency);
  const file = html`${document_type}, SHA-256 <code>${hash?.slice(0, 16)}…</code>`;
  return [
    one.payee,
    offramp.status === "failed" ? "given up" : noted(one),
    html`<span class="amount">${amount} by ${offramp.rails}</span>`,
    details.reference || NONE,
    invoice_id ? html`<code>${invoice_id}</code>` : NONE,
    hash
      ? may_see_documents
        ? html`<a href="${documentPagePath(id)}">${file}</a>`
        : html`<span>${file}</span>`
      : "none yet",
    html`<a href="${RECORD_PATH}/${id}"><code>${id}</code></a>`,
  ];
}

function noted(one: Pick<PayoutTerms, "is_new_payee" | "is_recent_payee">): Html | string {
  const marks = marksOf(one);
  return marks ? html`<strong>${marks}</strong>` : NONE;
}

function cut<Row>(rows: readonly Row[], at: number): readonly Row[] {
  return rows.slice((at - 1) * ROWS_PER_PAGE, at * ROWS_PER_PAGE);
}

function pathOf({ id }: Proposal, payees: number, payouts: number): string {
  return `${payoutsPath(id)}?payees=${payees}&payouts=${payouts}`;
}

function pageLinks(label: string, count: number, at: number, path: (at: number) => string): Html {
  const pages = Math.ceil(count / ROWS_PER_PAGE);
  if (pages <= 1) return html``;
  return html`<nav aria-label="${label}"><p>Page ${at} of ${pages}
${at > 1 && html`<a href="${path(at - 1)}">Previous page</a>`}
${at < pages && html`<a href="${path(at + 1)}">Next page</a>`}</p></nav>`;
}
