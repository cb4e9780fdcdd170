import type { MemberSession } from "../../accounts/sign-in/sessions.ts";
import { formatDate } from "../../catalogue/dates.ts";
import { findPostalCountry } from "../../catalogue/postal.ts";
import type { Mode } from "../../platform/config/config.ts";
import { type Html, html } from "../../platform/http/html.ts";
import { csrfField, moment, NONE, page, table } from "../../platform/pages/layout.ts";
import type { KycStatus } from "../../users/model.ts";
import type { KycFile } from "../application-store.ts";
import {
  FIELDS,
  type Field,
  findChangedSince,
  findContradictions,
  recordValues,
} from "../fields.ts";
import { COMMENT_LENGTH_MAX, type Decision, labelOfDecision, needsTwo } from "./decisions.ts";
import type { LoadedReview } from "./load-review.ts";
import type { QueueRow } from "./review-store.ts";

export const QUEUE_PATH = "/dashboard/kyc";

/** The states that the queue can show, and their labels. */
export const QUEUES = {
  awaiting_manual_review: "To review",
  retry_required: "Retry requested",
  approved: "Approved",
  suspended: "Suspended",
} as const satisfies Partial<Record<KycStatus, string>>;
export type Queue = keyof typeof QUEUES;

type Shown = { mode: Mode; session: MemberSession };

/** `last` is the last row shown when there are more. */
export function queuePage(
  { mode, session }: Shown,
  queue: Queue,
  rows: readonly QueueRow[],
  last?: QueueRow,
): Html {
  const links = (Object.keys(QUEUES) as Queue[]).map((name) =>
    name === queue
      ? html`<li><strong aria-current="page">${QUEUES[name]}</strong></li>`
      : html`<li><a href="${QUEUE_PATH}?status=${name}">${QUEUES[name]}</a></li>`,
  );
  const body = html`<p><a href="/dashboard">Dashboard</a></p>
<div class="heading"><h1>Identity reviews</h1></div>
<nav aria-label="Queues"><ul class="tabs">${links}</ul></nav>
<section class="card" aria-labelledby="queue-title">
<h2 id="queue-title">${QUEUES[queue]}</h2>
${table({
  label: QUEUES[queue],
  columns: ["User", "Account", "Type", "Since", "Review"],
  rows: rows.map((row) => [
    html`<code>${row.user_id}</code>`,
    row.account_name,
    row.beneficiary_type === "business" ? "Business" : "Individual",
    moment(row.updated_at),
    html`<a href="${reviewPath(row)}">${
      row.is_proposed ? "Confirm" : "Open"
    }<span class="hidden"> user ${row.user_id}</span></a>`,
  ]),
  empty: "No users are in this queue.",
})}
${last && moreLink(queue, last)}
</section>`;
  return page({ title: "Identity reviews", mode, session, body });
}

function moreLink(queue: Queue, { updated_at, user_id }: QueueRow): Html {
  const query = new URLSearchParams({
    status: queue,
    since: String(updated_at.getTime()),
    after: user_id,
  });
  return html`<p><a href="${QUEUE_PATH}?${query.toString()}">Next page</a></p>`;
}

export function reviewPage(
  { mode, session }: Shown,
  review: LoadedReview,
  notice: { text: string; is_problem: boolean } | null,
  comment = "",
): Html {
  const { account, user, application } = review;
  const { general, usd, eur } = user.kyc;
  const { status, moderation_comment } = general;
  const body = html`<p><a href="${QUEUE_PATH}">All identity reviews</a></p>
<div class="heading"><h1>${titleOf(review)}</h1></div>
${notice && noticeLine(notice)}
<section class="card" aria-labelledby="state-title">
<h2 id="state-title">Status</h2>
<dl>
<div><dt>Account</dt><dd>${account.name}</dd></div>
<div><dt>User</dt><dd><code>${user.id}</code></dd></div>
<div><dt>Status</dt><dd>${words(status)}</dd></div>
<div><dt>Swift in eur</dt><dd>${words(eur.swift_status)}</dd></div>
<div><dt>Swift in other currencies</dt><dd>${words(usd.swift_status)}</dd></div>
${application && html`<div><dt>Submitted</dt><dd>${moment(application.submitted_at)}</dd></div>`}
${moderation_comment && html`<div><dt>Comment</dt><dd>${moderation_comment}</dd></div>`}
</dl>
</section>
<div class="sides">
<section class="card" aria-labelledby="data-title"><h2 id="data-title">Data</h2>
${dataList(review)}</section>
<section class="card" aria-labelledby="files-title"><h2 id="files-title">Files</h2>
${filesList(review)}</section>
</div>
${decisionSection(session, review, comment)}
${notesSection(review)}`;
  return page({ title: "Identity review", mode, session, body });
}

export function reviewPath({ account_id, user_id }: { account_id: string; user_id: string }) {
  return `${QUEUE_PATH}/${account_id}/${user_id}`;
}

function titleOf({ values }: LoadedReview): string {
  return values.company_name || [values.first_name, values.last_name].filter(Boolean).join(" ");
}

function noticeLine({ text, is_problem }: { text: string; is_problem: boolean }): Html {
  return is_problem
    ? html`<p class="alert" role="alert">${text}</p>`
    : html`<p class="note" role="status">${text}</p>`;
}

function dataList({ user, application, values }: LoadedReview): Html {
  const type = user.beneficiary_type;
  const submitted = application?.submitted ?? null;
  const now = recordValues(type, user.identity);
  // Once a user is approved, the submitted data is the record.
  const is_open = !["approved", "suspended"].includes(user.kyc.general.status);
  const contradicted = submitted ? findContradictions(type, submitted) : [];
  const since = submitted && is_open ? findChangedSince(type, user.identity, submitted) : [];
  const rows = FIELDS[type].map((field) => {
    const value = values[field.name];
    return html`<div><dt>${labelOf(field.name)}</dt><dd>${value ? shownValue(field, value) : NONE}${
      contradicted.includes(field.name) &&
      html` <em>${beforeText(field, submitted?.known[field.name])}</em>`
    }${
      since.includes(field.name) && html` <strong>${sinceText(field, now[field.name])}</strong>`
    }</dd></div>`;
  });
  return html`<dl class="data">${rows}
<div><dt>E-mail</dt><dd>${user.identity.email}</dd></div></dl>`;
}

function beforeText(field: Field, value: string | null | undefined): string {
  return `changed by the user; the account sent: ${value ? shownValue(field, value) : ""}`;
}

function sinceText(field: Field, value: string | null | undefined): string {
  const shown = value ? shownValue(field, value) : "nothing";
  return `The account has since changed this to: ${shown}. If you approve, that value is kept.`;
}

function shownValue({ kind }: Field, value: string): string {
  if (kind === "date") return formatDate(value);
  if (kind === "country") return `${findPostalCountry(value)?.name ?? value} (${value})`;
  return value;
}

function filesList({ user, files, application }: LoadedReview): Html {
  if (files.length === 0) {
    const text =
      application && application.submitted === null
        ? "The files were deleted after the retention period."
        : "No files were submitted.";
    return html`<p class="muted">${text}</p>`;
  }
  return html`${files.map((file) => fileFigure(user, file))}`;
}

function fileFigure(user: { account_id: string; id: string }, file: KycFile): Html {
  const path = `${reviewPath({ account_id: user.account_id, user_id: user.id })}/files/${file.id}`;
  const name = labelOf(file.slot);
  const shown =
    file.type === "pdf"
      ? html`<a href="${path}">Download the PDF<span class="hidden"> of ${name}</span></a>`
      : html`<a href="${path}"><img src="${path}" alt="${name}"></a>`;
  return html`<figure>${shown}<figcaption>${name}, ${Math.ceil(
    file.size / 1024,
  )} kB, ${moment(file.uploaded_at)}</figcaption></figure>`;
}

function decisionSection(session: MemberSession, review: LoadedReview, comment: string): Html {
  const { proposed, void_summary, decisions } = review;
  if (decisions.length === 0) return html``;
  const votes = proposed?.proposal.votes ?? [];
  const is_own = votes.some(({ voter }) => voter.person_id === session.person_id);
  const is_proposer = proposed?.proposal.proposed_by_person === session.person_id;
  // The first of two reviewers can still stop the user alone.
  const possible = is_own ? decisions.filter((name) => !needsTwo(name)) : decisions;
  return html`<section class="card" aria-labelledby="decision-title">
<h2 id="decision-title">Decision</h2>
${
  is_own &&
  proposed &&
  html`<p>You ${is_proposer ? "proposed" : "confirmed"}:
<strong>${labelOfDecision(proposed.decision)}</strong>. Another member must confirm it.</p>`
}
${void_summary && voidLine(void_summary)}
${proposed && !is_own && proposalLine(proposed.decision, proposed.comment)}
${possible.length > 0 && decisionForm(session, review, possible, comment)}
</section>`;
}

function decisionForm(
  session: MemberSession,
  { account, user, proposed, seen }: LoadedReview,
  possible: readonly Decision[],
  comment: string,
): Html {
  const path = reviewPath({ account_id: account.id, user_id: user.id });
  return html`<form method="post" action="${path}">
${csrfField(session.csrf)}
<input type="hidden" name="seen" value="${seen}">
<label for="comment">Comment</label>
<textarea id="comment" name="comment" rows="3" maxlength="${COMMENT_LENGTH_MAX}"
  aria-describedby="comment-hint">${comment}</textarea>
<p class="hint" id="comment-hint">If you request a retry, reject or suspend, the user and
everybody with the link can read the comment: write nothing personal. If you approve, or decide
about swift, only reviewers can read it.</p>
<p class="buttons">${possible.map((name) => decisionButton(name, proposed?.decision))}</p>
</form>`;
}

function voidLine(summary: string): Html {
  return html`<p class="alert" role="alert"><strong>${summary}</strong>
This proposal is void because the user's data or status has changed since. Your decision becomes a
new proposal.</p>`;
}

function notesSection({ notes }: LoadedReview): Html {
  if (notes.length === 0) return html``;
  const columns = ["Time", "Decision", "Comment"];
  const rows = notes.map((note) => [
    moment(note.created_at),
    words(note.action.replace("kyc.", "")),
    note.comment,
  ]);
  return html`<section class="card" aria-labelledby="notes-title">
<h2 id="notes-title">Reviewers' comments</h2>
${table({ label: "Reviewers' comments", columns, rows, empty: "" })}
</section>`;
}

function proposalLine(decision: Decision, comment: string): Html {
  return html`<p class="note">Another member proposed:
<strong>${labelOfDecision(decision)}</strong>${comment && html` with the comment “${comment}”`}.
Choose the same decision to confirm it; any other decision cancels the proposal.</p>`;
}

function decisionButton(name: Decision, proposed: Decision | undefined): Html {
  const label = labelOfDecision(name);
  const text = proposed === name ? `Confirm: ${label}` : label;
  const is_first = proposed ? proposed === name : name === "approve" || name === "unsuspend";
  return html`<button${is_first && html` class="primary"`} type="submit" name="decision"
  value="${name}">${text}</button> `;
}

function words(name: string): string {
  return name.replaceAll("_", " ");
}

/** `controller_first_name` → `Controller first name`. */
function labelOf(name: string): string {
  const words = name.replaceAll("_", " ").replace(/(\d)$/, " $1");
  return `${words[0]?.toUpperCase()}${words.slice(1)}`;
}
