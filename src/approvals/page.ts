import { referenceName } from "../accounts/pages.ts";
import { may } from "../accounts/roles.ts";
import type { MemberSession } from "../accounts/sign-in/sessions.ts";
import { REASON_LENGTH_MAX } from "../catalogue/text.ts";
import type { Mode } from "../platform/config/config.ts";
import { type Html, html } from "../platform/http/html.ts";
import { minorToText } from "../platform/money.ts";
import { csrfField, moment, NONE, page, table } from "../platform/pages/layout.ts";
import type { ProposalsView, ProposalView } from "./load-proposals.ts";
import {
  CONFIRMATIONS_NEEDED,
  type Content,
  lapsesAt,
  type Proposal,
  type ProposalStatus,
  type Vote,
} from "./model.ts";
import { RECORD_PATH } from "./render.ts";

export const PROPOSALS_PATH = "/dashboard/proposals";

const STATUS_NAMES: Record<ProposalStatus, string> = {
  pending: "Pending",
  confirmed: "Confirmed, in progress",
  rejected: "Rejected",
  void: "Void",
  lapsed: "Lapsed",
  done: "Done",
  failed: "Failed",
};

type Names = ReadonlyMap<string, string>;

/** The page that shows the record of a proposal, by the kind of the proposal. */
export type RecordPages = Readonly<
  Record<string, { label: string; pathOf: (proposal: Proposal) => string }>
>;

type Shown = {
  mode: Mode;
  session: MemberSession;
  view: ProposalsView;
  ended: ProposalsView;
  /** The proposer whose proposals alone are shown; null: all. */
  by: string | null;
  record_pages: RecordPages;
  /** The problem with a vote and how to fix it. */
  problem: string | null;
};

export function proposalsPage(options: Shown): Html {
  const { mode, session, view, problem } = options;
  const body = html`<p><a href="/dashboard">Dashboard</a></p>
<div class="heading"><h1>Proposals</h1></div>
${problem !== null && html`<p class="alert" role="alert">${problem}</p>`}
<p class="muted">Requests and decisions that need two people wait here until two confirm them.
${
  may(session.role, "vote")
    ? "Check the details before you confirm. One rejection ends a proposal."
    : "Admins, finance managers and approvers vote on them."
}</p>
${proposersSection(options)}
${
  view.proposals.length === 0 &&
  html`<section class="card"><p class="muted">No proposals need approval.</p></section>`
}
${view.proposals.map((entry) => pendingSection(options, entry))}
${view.last_id && html`<p><a href="${listPath(options.by, view.last_id)}">Older proposals</a></p>`}
${endedSection(options.ended)}`;
  return page({ title: "Proposals", mode, session, body });
}

/** Whoever proposes much must not hide what others propose: each can be shown alone. */
function proposersSection({ view, by }: Shown): Html {
  const { proposers, names } = view;
  if (by === null && view.last_id === null) return html``;
  return html`<section class="card" aria-labelledby="proposers-title">
<h2 id="proposers-title">Not all proposals that wait are on this page</h2>
${table({
  label: "Who proposed what waits, the fewest first",
  columns: ["Proposed by", "Waiting", "Show"],
  rows: proposers.map(({ proposed_by, count }) => [
    referenceName(proposed_by, names),
    String(count),
    proposed_by === by ? "Shown" : html`<a href="${listPath(proposed_by, null)}">Only these</a>`,
  ]),
  empty: "",
})}
<p><a href="${PROPOSALS_PATH}">All, the newest first</a></p>
</section>`;
}

function listPath(by: string | null, starting_after: string | null): string {
  const given = { by, starting_after };
  const query = Object.entries(given).filter((entry): entry is [string, string] => !!entry[1]);
  return `${PROPOSALS_PATH}?${new URLSearchParams(query)}`;
}

function pendingSection({ session, view, record_pages }: Shown, entry: ProposalView): Html {
  const { proposal, may_vote, content } = entry;
  const { names } = view;
  const title_id = `title-${proposal.id}`;
  const is_foreign = proposal.account_id !== session.account_id;
  const record_page = record_pages[proposal.kind];
  return html`<section class="card" aria-labelledby="${title_id}">
<h2 id="${title_id}">${proposal.summary}<span class="hidden"> Proposal ${proposal.id}</span></h2>
<dl>
${is_foreign && html`<div><dt>Account</dt><dd>${proposal.account_name}</dd></div>`}
${
  proposal.voters !== "reviewers" &&
  html`<div><dt>Amount</dt><dd>${amount(proposal.amount_usd)}</dd></div>`
}
${content?.details.map(([label, value]) => html`<div><dt>${label}</dt><dd>${value}</dd></div>`)}
${content && html`<div><dt>Why it needs approval</dt><dd>${content.why}</dd></div>`}
<div><dt>Proposed by</dt><dd>${proposerOf(proposal, names)}</dd></div>
<div><dt>Proposed</dt><dd>${moment(proposal.created_at)}</dd></div>
<div><dt>Record</dt><dd><a href="${recordPath(proposal, is_foreign)}"><code>${
    proposal.record_id
  }</code></a></dd></div>
<div><dt>Confirmed</dt><dd>${proposal.confirmations} of ${CONFIRMATIONS_NEEDED}${
    proposal.votes.length > 0 && html`: ${voteList(proposal.votes, names)}`
  }${proposal.voters === "with_operator" && " (one of them the operator's)"}</dd></div>
<div><dt>Lapses</dt><dd>${moment(lapsesAt(proposal))}</dd></div>
</dl>
${
  may_vote &&
  record_page &&
  html`<p><a href="${record_page.pathOf(proposal)}">${record_page.label}<span class="hidden"> ${
    proposal.record_id
  }</span></a></p>`
}
${choices(session, entry)}
</section>
`;
}

function recordPath({ account_id, record_id }: Proposal, is_foreign: boolean): string {
  return `${RECORD_PATH}/${record_id}${is_foreign ? `?account=${account_id}` : ""}`;
}

function choices(session: MemberSession, { proposal, may_vote, content }: ProposalView): Html {
  const { voters, votes } = proposal;
  if (!may_vote) {
    return voters === "reviewers"
      ? html`<p class="hint">The reviewers of the user's identity vote on this.</p>`
      : html``;
  }
  if (votes.some(({ voter }) => voter.person_id === session.person_id)) {
    return html`<p class="hint">You have confirmed this; another member must confirm it too.</p>`;
  }
  // Reviewers vote on the review page, where they see the data.
  if (voters === "reviewers") return html``;
  const path = `${PROPOSALS_PATH}/${proposal.id}`;
  const reason_id = `reason-${proposal.id}`;
  return html`<div class="choices">
${confirmation(session, path, content)}
<form class="reject" method="post" action="${path}/reject">${csrfField(session.csrf)}
<label for="${reason_id}">Reason for rejecting</label>
<input id="${reason_id}" name="reason" required maxlength="${REASON_LENGTH_MAX}"
  autocomplete="off">
<button type="submit">Reject</button></form>
</div>`;
}

/** Content that cannot be read, or is still incomplete, can only be rejected. */
function confirmation(session: MemberSession, path: string, content: Content | null): Html {
  if (content === null) return html`<p class="muted">The user was erased.</p>`;
  if (content.waits_for) return html`<p class="hint">${content.waits_for}</p>`;
  return html`<form method="post" action="${path}/confirm">${csrfField(session.csrf)}
<input type="hidden" name="seen" value="${content.digest}">
<button class="primary" type="submit">Confirm</button></form>`;
}

function endedSection({ proposals, names }: ProposalsView): Html {
  return html`<section class="card" aria-labelledby="ended-title">
<h2 id="ended-title">Recent decisions</h2>
${table({
  label: "Recent decisions, newest first",
  columns: ["Proposed", "Request", "Amount", "By", "Votes", "Status"],
  rows: proposals.map(({ proposal }) => [
    moment(proposal.created_at),
    html`<span title="${proposal.record_id}">${proposal.summary}</span>`,
    proposal.voters !== "reviewers" ? amount(proposal.amount_usd) : NONE,
    proposerOf(proposal, names),
    proposal.votes.length > 0 ? voteList(proposal.votes, names) : NONE,
    html`${STATUS_NAMES[proposal.status]}${proposal.outcome && `: ${proposal.outcome}`}`,
  ]),
  empty: "No proposals have been decided.",
})}
</section>`;
}

function proposerOf({ proposed_by }: Proposal, names: Names): Html | string {
  const name = referenceName(proposed_by, names);
  return proposed_by.startsWith("api_key:") ? html`<code>${name}</code>` : name;
}

function voteList(votes: readonly Vote[], names: Names): Html {
  // In one element: on a narrow screen each child of a cell gets its own line.
  return html`<span>${votes.map(
    ({ voter, verdict }, at) =>
      html`${at > 0 && ", "}${referenceName(`member:${voter.person_id}`, names)}${
        verdict === "reject" && " (rejected)"
      }`,
  )}</span>`;
}

/** With thousands separators. */
function amount(cents: bigint | null): Html | string {
  if (cents === null) return "No usd rate available";
  const [whole = "", decimals = ""] = minorToText(cents, 2).split(".");
  const grouped = BigInt(whole).toLocaleString("en-US").replaceAll(",", " ");
  return html`<span class="amount">${grouped}.${decimals.padEnd(2, "0")} usd</span>`;
}
