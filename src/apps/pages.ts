import { may } from "../accounts/roles.ts";
import type { MemberSession } from "../accounts/sign-in/sessions.ts";
import { RAMP_EVENTS } from "../events/model.ts";
import type { Mode } from "../platform/config/config.ts";
import { type Html, html } from "../platform/http/html.ts";
import { csrfField, moment, NONE, page, table } from "../platform/pages/layout.ts";
import type { AppForm } from "./app-form.ts";
import type { Applications } from "./load-applications.ts";
import type { App, AppFlow } from "./model.ts";
import type { AppOutcome } from "./render.ts";

export const APPS_PATH = "/dashboard/apps";

const FLOW_NAMES: Record<AppFlow, string> = {
  authorization_code: "Authorization code: acts for people who authorize it",
  client_credentials: "Client credentials: acts for this account",
};
const FLOW_WORDS: Record<AppFlow, string> = {
  authorization_code: "Authorization code",
  client_credentials: "Client credentials",
};

export function appsPage(options: {
  mode: Mode;
  session: MemberSession;
  applications: Applications;
  /** What was submitted, when it was refused. */
  form?: AppForm;
  problems?: readonly string[];
  /** An application whose new secrets are shown this one time. */
  made?: AppOutcome;
}): Html {
  const { mode, session, applications, form, problems = [], made } = options;
  const { apps, consents } = applications;
  const body = html`<p><a href="/dashboard">Dashboard</a></p>
<div class="heading"><h1>Applications</h1></div>
${made && secretsSection(made)}
${
  apps === null
    ? html`<section class="card"><h2>Applications of ${session.account_name}</h2>
<p class="muted">Only admins and developers can view and create applications.</p></section>`
    : html`${ownSection(session, apps)}${newSection(session, form, problems)}`
}
${consentsSection(session, consents)}`;
  return page({ title: "Applications", mode, session, body });
}

function secretsSection({ endpoint, revealed }: AppOutcome): Html {
  const { client_secret, webhook_secret } = revealed;
  return html`<section class="card notice" role="status" aria-labelledby="secrets-title">
<h2 id="secrets-title">Store these now: they are not shown again</h2>
<dl>
<div><dt>Application</dt><dd>${endpoint.name}</dd></div>
<div><dt>Client ID</dt><dd><code>${endpoint.id}</code></dd></div>
<div><dt>Client secret</dt><dd><code>${client_secret}</code></dd></div>
${
  webhook_secret !== undefined &&
  html`<div><dt>Webhook secret</dt><dd><code>${webhook_secret}</code></dd></div>`
}
</dl>
</section>`;
}

function ownSection(session: MemberSession, apps: readonly App[]): Html {
  return html`<section class="card" aria-labelledby="own-title">
<h2 id="own-title">Applications of ${session.account_name}</h2>
${table({
  label: "Applications of this account",
  columns: ["Application", "Flow", "Webhook", "First used", "Secret", "Delete"],
  rows: apps.map((app) => [
    html`<div>${app.name}<br><code>${app.id}</code></div>`,
    FLOW_WORDS[app.flow],
    app.webhook_url ?? NONE,
    usedCell(session, app),
    html`<div><code>…${app.client_secret_last_four}</code>
<details><summary>New secret</summary>
<form method="post" action="${APPS_PATH}/rotate">${csrfField(session.csrf)}
<input type="hidden" name="app_id" value="${app.id}">
<p class="hint">The current secret stops working immediately.</p>
<button type="submit" aria-label="Create a new secret for ${app.name}">Create</button></form>
</details></div>`,
    html`<details><summary>Delete</summary>
<form method="post" action="${APPS_PATH}/delete">${csrfField(session.csrf)}
<input type="hidden" name="app_id" value="${app.id}">
<p class="hint">Its tokens end immediately. This cannot be undone.</p>
<button type="submit" aria-label="Permanently delete ${app.name}">Delete permanently</button></form>
</details>`,
  ]),
  empty: "This account has no applications.",
})}
</section>`;
}

/** A used application is notified of fewer invoices; only an admin can reset that. */
function usedCell(session: MemberSession, app: App): Html | string {
  if (!app.used_at) return "Not yet";
  if (!may(session.role, "reset_app_used")) return moment(app.used_at);
  return html`<form method="post" action="${APPS_PATH}/reset_used">${csrfField(session.csrf)}
<input type="hidden" name="app_id" value="${app.id}">${moment(app.used_at)}
<button type="submit" aria-label="Reset ${app.name} to not yet used">Reset</button></form>`;
}

function newSection(
  session: MemberSession,
  form: AppForm | undefined,
  problems: readonly string[],
): Html {
  const { flow: chosen = "authorization_code", events = [] } = form ?? {};
  return html`<section class="card" aria-labelledby="new-title">
<h2 id="new-title">New application</h2>
${
  problems.length > 0 &&
  html`<div class="alert" role="alert"><ul>${problems.map(
    (text) => html`<li>${text}</li>`,
  )}</ul></div>`
}
<form class="narrow" method="post" action="${APPS_PATH}">${csrfField(session.csrf)}
<label for="name">Name, as shown to users</label>
<input id="name" name="name" required maxlength="100" value="${form?.name}">
<fieldset><legend>Flow</legend>
${(Object.keys(FLOW_NAMES) as AppFlow[]).map(
  (flow) =>
    html`<label class="check"><input type="radio" name="flow" value="${flow}"${
      flow === chosen && html` checked`
    }> ${FLOW_NAMES[flow]}</label>`,
)}</fieldset>
<label for="redirect_uris">Redirect URLs, one per line</label>
<textarea id="redirect_uris" name="redirect_uris" rows="3" spellcheck="false"
  aria-describedby="redirect-hint">${form?.redirect_uris}</textarea>
<p class="hint" id="redirect-hint">Only for the authorization code flow. https, or http on
localhost.</p>
<label for="webhook_url">Webhook URL (optional)</label>
<input id="webhook_url" name="webhook_url" inputmode="url" spellcheck="false"
  value="${form?.webhook_url}">
<label for="webhook_secret">Webhook secret (leave empty to generate one)</label>
<input id="webhook_secret" name="webhook_secret" autocomplete="off" spellcheck="false">
<fieldset><legend>Events in addition to invoice events</legend>
${RAMP_EVENTS.map(
  (event) =>
    html`<label class="check"><input type="checkbox" name="events" value="${event}"${
      events.includes(event) && html` checked`
    }> <code>${event}</code></label>`,
)}</fieldset>
<button class="primary" type="submit">Create application</button>
</form>
</section>`;
}

function consentsSection(session: MemberSession, consents: Applications["consents"]): Html {
  return html`<section class="card" aria-labelledby="connected-title">
<h2 id="connected-title">Connected applications</h2>
${table({
  label: "Applications with access to an account",
  columns: ["Application", "Owner", "Account", "Authorized by", "Since", "Access"],
  rows: consents.map((consent) => [
    consent.app_name,
    consent.owner_name,
    consent.account_name,
    consent.person_id === session.person_id ? "You" : consent.email,
    moment(consent.created_at),
    html`<form method="post" action="${APPS_PATH}/revoke">${csrfField(session.csrf)}
<input type="hidden" name="app_id" value="${consent.app_id}">
<input type="hidden" name="account_id" value="${consent.account_id}">
<input type="hidden" name="person_id" value="${consent.person_id}">
<button type="submit"
  aria-label="Revoke the access of ${consent.app_name} to ${consent.account_name}">Revoke</button>
</form>`,
  ]),
  empty: "No applications are connected to your accounts.",
})}
</section>`;
}
