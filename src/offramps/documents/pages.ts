import type { MemberSession } from "../../accounts/sign-in/sessions.ts";
import { PROPOSALS_PATH } from "../../approvals/page.ts";
import { minorDigits } from "../../catalogue/currencies.ts";
import type { Mode } from "../../platform/config/config.ts";
import { type Html, html } from "../../platform/http/html.ts";
import { minorToText } from "../../platform/money.ts";
import { csrfField, moment, page } from "../../platform/pages/layout.ts";
import type { Offramp } from "../model.ts";
import type { RejectedDocumentsView, RejectedDocumentView } from "./load-rejected-documents.ts";

export const DOCUMENTS_PATH = "/dashboard/documents";
export const APPROVAL_REASON_LENGTH_MAX = 500;

/** The result of an approval, or why it was refused. */
export type Notice = {
  text: string;
  /** The refused form, to be corrected. */
  refused: { offramp_id: string; reason: string } | null;
};

const PROPOSED = html`<p class="hint">Its approval was proposed and needs two members:
<a href="${PROPOSALS_PATH}">View proposals</a></p>`;

export function documentFilePath(offramp_id: string): string {
  return `${DOCUMENTS_PATH}/${offramp_id}/file`;
}

export function rejectedDocumentsPage(options: {
  mode: Mode;
  session: MemberSession;
  view: RejectedDocumentsView;
  notice: Notice | null;
}): Html {
  const { mode, session, view, notice } = options;
  const body = html`<p><a href="/dashboard">Dashboard</a></p>
<div class="heading"><h1>Rejected documents</h1></div>
${notice && noticeLine(notice)}
${
  view.is_reviewer
    ? html`<p class="muted">These supporting documents were rejected, and their payouts have not
started. Upload another file through the API, or view the file and approve it with a reason.</p>`
    : html`<section class="card"><p>The operator reviews the documents of this account, so none are
listed here. Upload another file through the API for a payout whose document was rejected, or ask
the operator to delegate the review to this account.</p></section>`
}
${
  view.is_reviewer &&
  view.documents.length === 0 &&
  html`<section class="card"><p class="muted">No rejected documents.</p></section>`
}
${view.documents.map((entry) => documentSection(session, entry, notice))}
${
  view.last_id !== null &&
  html`<p><a href="${DOCUMENTS_PATH}?after=${view.last_id}">Next page</a></p>`
}`;
  return page({ title: "Rejected documents", mode, session, body });
}

function noticeLine({ text, refused }: Notice): Html {
  return refused
    ? html`<p class="alert" role="alert">${text}</p>`
    : html`<p class="note" role="status">${text}</p>`;
}

function documentSection(
  session: MemberSession,
  entry: RejectedDocumentView,
  notice: Notice | null,
): Html {
  const { offramp, rejected_at } = entry;
  const { id, details, document_hash } = offramp;
  const title_id = `title-${id}`;
  return html`<section class="card" aria-labelledby="${title_id}">
<h2 id="${title_id}">Payout of ${amountOf(offramp)}<span class="hidden">, offramp ${id}</span></h2>
<dl>
<div><dt>Offramp</dt><dd><code>${id}</code></dd></div>
<div><dt>User</dt><dd><code>${offramp.user_id}</code></dd></div>
<div><dt>State</dt><dd>${offramp.status.replaceAll("_", " ")}</dd></div>
<div><dt>Rejected</dt><dd>${moment(rejected_at ?? offramp.updated_at)}</dd></div>
<div><dt>Reason</dt><dd>${details.document_comment ?? "None was given."}</dd></div>
${
  document_hash &&
  html`<div><dt>File</dt><dd>${fileLink(offramp)}</dd></div>
<div><dt>SHA-256 of the file</dt><dd><code>${document_hash.toString("hex")}</code></dd></div>`
}
</dl>
${
  offramp.document_file === null
    ? html`<p class="hint">No file was received, so there is nothing to approve.</p>`
    : entry.is_proposed
      ? PROPOSED
      : approvalForm(session, offramp, notice)
}
</section>
`;
}

/** A PDF is downloaded, not opened in the page: it could run scripts. */
function fileLink({ id, document_type }: Offramp): Html {
  const text = document_type === "pdf" ? "Download the PDF" : "View the picture";
  const of = html`<span class="hidden"> of offramp ${id}</span>`;
  return html`<a href="${documentFilePath(id)}">${text}${of}</a>`;
}

function approvalForm(
  session: MemberSession,
  { id, document_hash }: Offramp,
  notice: Notice | null,
): Html {
  const reason_id = `reason-${id}`;
  const hint_id = `hint-${id}`;
  const typed = notice?.refused?.offramp_id === id ? notice.refused.reason : "";
  return html`<form method="post" action="${DOCUMENTS_PATH}/${id}/approve">
${csrfField(session.csrf)}
<input type="hidden" name="hash" value="${document_hash?.toString("hex")}">
<label for="${reason_id}">Reason for approving</label>
<input id="${reason_id}" name="reason" required maxlength="${APPROVAL_REASON_LENGTH_MAX}"
  autocomplete="off" aria-describedby="${hint_id}" value="${typed}">
<p class="hint" id="${hint_id}">Saved in the audit log. Do not enter personal data.</p>
<p class="buttons"><button class="primary" type="submit">Approve with this reason</button></p>
</form>`;
}

function amountOf({ destination_amount, destination_currency, rails }: Offramp): string {
  const digits = minorDigits(destination_currency) ?? 2;
  return `${minorToText(destination_amount, digits)} ${destination_currency} by ${rails}`;
}
