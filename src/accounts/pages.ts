import type { Mode } from "../platform/config/config.ts";
import { type Html, html } from "../platform/http/html.ts";
import { badge, csrfField, moment, NONE, page, table } from "../platform/pages/layout.ts";
import type { UsedKey } from "./api-key-store.ts";
import type { Dashboard } from "./load-dashboard.ts";
import { may, ROLE_NAMES } from "./roles.ts";
import type { MemberSession } from "./sign-in/sessions.ts";
import type { AuditEntryRow, Membership } from "./store.ts";

const MONEY_LINK = html`<div><dt>Money</dt>
<dd><a href="/dashboard/overview">Overview, payouts, deposits and people</a></dd></div>`;
const REVIEWS_LINK = html`<div><dt>KYC</dt>
<dd><a href="/dashboard/kyc">Identity reviews</a></dd></div>`;
const DOCUMENTS_LINK = html`<div><dt>Documents</dt>
<dd><a href="/dashboard/documents">Rejected documents</a></dd></div>`;
const SCREENING_LINK = html`<div><dt>Screening</dt>
<dd><a href="/dashboard/screening">Screening matches</a></dd></div>`;

const MEMBERS_LINK = html`<div><dt>People</dt>
<dd><a href="/dashboard/members">Members</a></dd></div>`;
const OUTBOX_LINK = html`<div><dt>Mail</dt>
<dd><a href="/dashboard/outbox">Outbox</a></dd></div>`;

export function dashboardPage(mode: Mode, session: MemberSession, dashboard: Dashboard): Html {
  const { memberships, has_pending_proposals, api_keys, audit_entries, names } = dashboard;
  const body = html`<div class="heading"><h1>${session.account_name}</h1>
${memberships.length > 1 && accountForm(session, memberships)}</div>
<section class="card" aria-labelledby="account-title">
<h2 id="account-title">Account</h2>
<dl>
<div><dt>Mode</dt><dd>${badge(mode)}</dd></div>
<div><dt>Signed in as</dt><dd>${session.email}</dd></div>
<div><dt>Your role</dt><dd>${ROLE_NAMES[session.role]}</dd></div>
${session.is_operator && html`<div><dt>Operator</dt><dd>Runs this installation</dd></div>`}
${may(session.role, "see_records") && MONEY_LINK}
<div><dt>Settings</dt><dd><a href="/dashboard/apps">Applications</a></dd></div>
${may(session.role, "manage_members") && MEMBERS_LINK}
${may(session.role, "review_kyc") && REVIEWS_LINK}
${may(session.role, "review_documents") && DOCUMENTS_LINK}
${mode === "sandbox" && session.is_operator && may(session.role, "manage_members") && OUTBOX_LINK}
${session.is_operator && may(session.role, "review_screening") && SCREENING_LINK}
</dl>
</section>
<section class="card" aria-labelledby="proposals-title">
<h2 id="proposals-title">Proposals</h2>
<p>${has_pending_proposals ? "Some proposals need approval." : "No proposals need approval."}
<a href="/dashboard/proposals">View proposals</a></p>
</section>
${
  api_keys === null || audit_entries === null
    ? html`<section class="card"><h2>API keys and audit log</h2>
<p class="muted">Only admins and developers can view these.</p></section>`
    : html`${apiKeysSection(api_keys)}${auditSection(audit_entries, names)}`
}`;
  return page({ title: session.account_name, mode, session, body });
}

// Default text for each status; a refusal may have a more exact one.
const ERROR_TEXTS: Record<number, readonly [title: string, text: string]> = {
  403: ["Access denied", "Ask an admin of your account if you need it."],
  404: ["Page not found", "Check the URL, or start again from the dashboard."],
  413: ["Request too large", "Send a smaller request."],
  429: ["Too many attempts", "Wait a minute, then try again."],
  500: [
    "Something went wrong",
    "This is an error on our side. Try again, or report the request id below.",
  ],
  503: ["Not available right now", "Nothing was done. Wait a moment, then try again."],
};

export function errorPage(options: {
  status: number;
  message: string | null;
  request_id: string;
  mode: Mode;
  session: MemberSession | null;
}): Html {
  const { status, message, request_id, mode, session } = options;
  const [title, text] = ERROR_TEXTS[status] ?? ["This did not work", "Go back and try again."];
  const shown = status === 403 || status === 429 ? (message ?? text) : text;
  const text_body = html`<h1>${title}</h1>
<p>${shown}</p>
<p><a href="/dashboard">Go to the dashboard</a></p>
${status >= 500 && html`<p class="hint">Request <code>${request_id}</code></p>`}`;
  // The page for people who are not signed in is already a card.
  const body = session ? html`<section class="card">${text_body}</section>` : text_body;
  return page({ title, mode, session, body });
}

function accountForm(session: MemberSession, memberships: readonly Membership[]): Html {
  return html`<form class="inline" method="post" action="/dashboard/account">
${csrfField(session.csrf)}
<label for="account_id">Account</label>
<select id="account_id" name="account_id">${memberships.map(
    ({ account_id, account_name }) =>
      html`<option value="${account_id}"${
        account_id === session.account_id && html` selected`
      }>${account_name}</option>`,
  )}</select>
<button type="submit">Switch</button>
</form>`;
}

function apiKeysSection(api_keys: readonly UsedKey[]): Html {
  return html`<section class="card" aria-labelledby="keys-title">
<h2 id="keys-title">API keys</h2>
${table({
  label: "API keys",
  columns: ["Key", "Name", "May do", "Created", "Last used", "Status"],
  rows: api_keys.map((key) => [
    html`<code>${key.prefix}…${key.last_four}</code>`,
    key.name,
    mayDo(key),
    moment(key.created_at),
    key.used_at ? moment(key.used_at) : "Never",
    statusOf(key),
  ]),
  empty: "This account has no API keys.",
})}
</section>
`;
}

function mayDo({ scopes, networks }: UsedKey): Html {
  const what = scopes ? scopes.join(", ") : "Everything";
  return html`${what}${networks && html`, from ${networks.join(", ")}`}`;
}

function statusOf({ revoked_at, expires_at }: UsedKey): Html | string {
  if (revoked_at) return html`Revoked ${moment(revoked_at)}`;
  return expires_at ? html`Valid until ${moment(expires_at)}` : "Active";
}

function auditSection(entries: readonly AuditEntryRow[], names: ReadonlyMap<string, string>): Html {
  return html`<section class="card" aria-labelledby="audit-title">
<h2 id="audit-title">Audit log</h2>
${table({
  label: "Audit log, newest first",
  columns: ["Time", "By", "Action", "Record", "Reason"],
  rows: entries.map((entry) => [
    moment(entry.at),
    referenceName(entry.actor, names),
    html`<code>${entry.action}</code>`,
    // A sign-in has the same person as actor and record; show the name once.
    idOf(entry.record) === idOf(entry.actor) ? NONE : referenceName(entry.record, names),
    entry.reason || NONE,
  ]),
  empty: "The audit log is empty.",
})}
</section>`;
}

function idOf(reference: string): string {
  return reference.slice(reference.indexOf(":") + 1);
}

/** The display name of a `kind:id` reference, or its kind and the end of its id. */
export function referenceName(
  reference: string,
  names: ReadonlyMap<string, string>,
): Html | string {
  const [kind, id] = reference.split(":");
  if (kind === undefined || id === undefined) return reference;
  const words = kind.replaceAll("_", " ");
  const shown = names.get(id) ?? (id.length > 8 ? `${words} …${id.slice(-8)}` : `${words} ${id}`);
  return html`<span title="${reference}">${shown}</span>`;
}
