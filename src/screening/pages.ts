import type { MemberSession } from "../accounts/sign-in/sessions.ts";
import { REASON_LENGTH_MAX } from "../catalogue/text.ts";
import type { Mode } from "../platform/config/config.ts";
import { type Html, html } from "../platform/http/html.ts";
import { csrfField, moment, page } from "../platform/pages/layout.ts";
import type { MatchStatus } from "./model.ts";
import { birthText, type ShownMatch } from "./render.ts";

export const SCREENING_PATH = "/dashboard/screening";

export const QUEUES = {
  open: "To review",
  confirmed: "Confirmed",
  cleared: "Cleared",
} as const satisfies Partial<Record<MatchStatus, string>>;
export type Queue = keyof typeof QUEUES;

export type Notice = { text: string; is_problem: boolean };

export function screeningPage(options: {
  mode: Mode;
  session: MemberSession;
  queue: Queue;
  matches: readonly ShownMatch[];
  last_id: string | null;
  notice: Notice | null;
}): Html {
  const { mode, session, queue, matches, last_id, notice } = options;
  const links = (Object.keys(QUEUES) as Queue[]).map((name) =>
    name === queue
      ? html`<li><strong aria-current="page">${QUEUES[name]}</strong></li>`
      : html`<li><a href="${SCREENING_PATH}?status=${name}">${QUEUES[name]}</a></li>`,
  );
  const body = html`<p><a href="/dashboard">Dashboard</a></p>
<div class="heading"><h1>Screening matches</h1></div>
${notice && noticeLine(notice)}
<nav aria-label="Queues"><ul class="tabs">${links}</ul></nav>
<p class="muted">While a match is open or confirmed, the person's money is held. The account only
reads that checks are running.</p>
${
  matches.length === 0 &&
  html`<section class="card"><p class="muted">No matches are in this queue.</p></section>`
}
${matches.map((match) => matchSection(session, match))}
${
  last_id !== null &&
  html`<p><a href="${SCREENING_PATH}?status=${queue}&amp;after=${last_id}">Next page</a></p>`
}`;
  return page({ title: "Screening matches", mode, session, body });
}

function noticeLine({ text, is_problem }: Notice): Html {
  return is_problem
    ? html`<p class="alert" role="alert">${text}</p>`
    : html`<p class="note" role="status">${text}</p>`;
}

function matchSection(session: MemberSession, match: ShownMatch): Html {
  const { id, details } = match;
  const { person, entry } = details;
  const kind = match.record_kind === "user" ? "User" : "Payment detail";
  const verdict = match.verdict === "match" ? "Match" : "Possible match";
  return html`<section class="card" aria-labelledby="title-${id}">
<h2 id="title-${id}">${verdict}: ${details.listed}</h2>
<dl>
<div><dt>Account</dt><dd>${match.account_name}</dd></div>
<div><dt>${kind}</dt><dd><code>${match.record_id}</code></dd></div>
<div><dt>Found</dt><dd>${moment(match.created_at)}</dd></div>
<div><dt>Similarity</dt><dd>${Math.round(match.score * 100)} %</dd></div>
${
  match.decided_at &&
  html`<div><dt>Decided</dt><dd>${moment(match.decided_at)}</dd></div>
<div><dt>Reason</dt><dd>${details.reason}</dd></div>`
}
</dl>
<div class="sides">
<section aria-labelledby="person-${id}"><h3 id="person-${id}">The person</h3>
${facts({
  names: person.names,
  births: person.birth_date ? [person.birth_date] : [],
  countries: person.countries,
  wallets: person.wallets,
})}</section>
<section aria-labelledby="entry-${id}"><h3 id="entry-${id}">The entry of the list</h3>
${facts({
  names: entry.names.map(({ text, is_weak }) => (is_weak ? `${text} (weak alias)` : text)),
  births: entry.birth_dates.map(birthText),
  countries: entry.countries,
  wallets: entry.wallets,
})}
<dl><div><dt>List</dt><dd>${entry.list}, entry ${entry.id}</dd></div>
<div><dt>Programs</dt><dd>${entry.programs.join(", ") || "None"}</dd></div></dl></section>
</div>
${decisionForm(session, match)}
</section>
`;
}

function facts(of: {
  names: readonly string[];
  births: readonly string[];
  countries: readonly string[];
  wallets: readonly string[];
}): Html {
  const list = (values: readonly string[]) => values.join("; ") || "Unknown";
  return html`<dl>
<div><dt>Names</dt><dd>${list(of.names)}</dd></div>
<div><dt>Date of birth</dt><dd>${list(of.births)}</dd></div>
<div><dt>Countries</dt><dd>${list(of.countries)}</dd></div>
<div><dt>Wallets</dt><dd>${of.wallets.join("; ") || "None"}</dd></div>
</dl>`;
}

function decisionForm(session: MemberSession, { id, status, details }: ShownMatch): Html {
  const of = html`<span class="hidden"> ${details.listed}</span>`;
  const button = (action: string, text: string) =>
    html`<button name="action" value="${action}">${text}${of}</button>`;
  return html`<form method="post" action="${SCREENING_PATH}/${id}">
${csrfField(session.csrf)}
<label for="reason-${id}">Reason</label>
<input id="reason-${id}" name="reason" required maxlength="${REASON_LENGTH_MAX}">
<p>${status !== "cleared" && button("clear", "Clear: somebody else")}
${status !== "confirmed" && button("confirm", "Confirm: the same person")}</p>
</form>`;
}
