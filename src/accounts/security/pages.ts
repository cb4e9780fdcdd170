import { renderSVG } from "uqr";
import type { Mode } from "../../platform/config/config.ts";
import { type Html, html, raw } from "../../platform/http/html.ts";
import { csrfField, moment, page, table } from "../../platform/pages/layout.ts";
import { ENROL_PATH, NEW_PASSKEY_PATH, PASSKEYS_PATH, SECURITY_PATH } from "../page-paths.ts";
import { CREDENTIAL_FIELD, PASSKEY_SCRIPT, passkeyAttributes } from "../passkeys/form.ts";
import { passkeyInstead } from "../passkeys/pages.ts";
import { seedText, totpUri } from "../second-factor/totp.ts";
import { codeField } from "../sign-in/pages.ts";
import { newPasswordField, problemLine } from "../sign-in/password-pages.ts";
import type { MemberSession } from "../sign-in/sessions.ts";
import type { Security } from "./load-security.ts";

type Shown = {
  mode: Mode;
  session: MemberSession;
  security: Security;
  /** What is wrong with a form that was sent, and where it stands. */
  problem: { section: "password" | "factor"; text: string } | null;
  notice: string | null;
  /** Whether this site can have passkeys. */
  can_use_passkeys: boolean;
};

/** A person's own sign-in: passkeys, authenticator app, sessions, password. */
export function securityPage(shown: Shown): Html {
  const { mode, session, notice, can_use_passkeys } = shown;
  const head = can_use_passkeys ? PASSKEY_SCRIPT : null;
  const body = html`<p><a href="/dashboard">Dashboard</a></p>
<div class="heading"><h1>Security</h1></div>
${notice !== null && html`<section class="card notice" role="status"><p>${notice}</p></section>`}
${passkeysSection(shown)}
${factorSection(shown)}
${sessionsSection(shown)}
${passwordSection(shown)}`;
  return page({ title: "Security", mode, session, body, head });
}

function passwordSection({ session, problem }: Shown): Html {
  const text = problem?.section === "password" ? problem.text : null;
  return html`<section class="card" aria-labelledby="password-title">
<h2 id="password-title">Password</h2>
${problemLine(text)}
<form class="narrow" method="post" action="${SECURITY_PATH}/password">
${csrfField(session.csrf)}
${passwordField("current", "Current password")}
${newPasswordField(text)}
<button type="submit">Change password</button>
</form>
<p class="hint">All your other sessions end when you change it.${
    session.has_passkey && ` ${PASSKEYS_AFTER_CHANGE}`
  }</p>
</section>`;
}

const PASSKEYS_AFTER_CHANGE =
  "Each passkey signs you in alone again once you have used it after the new password.";

function passkeysSection({ security, can_use_passkeys }: Shown): Html {
  const { passkeys } = security;
  return html`<section class="card" aria-labelledby="passkeys-title">
<h2 id="passkeys-title">Passkeys</h2>
<p>A passkey signs you in with your fingerprint, face or PIN instead of a password, or after it as
second factor.${passkeys.length > 0 && " Open one to rename or remove it."}</p>
${table({
  label: "Your passkeys, oldest first",
  columns: ["Name", "Added", "Last used", "Signs in"],
  rows: passkeys.map(({ id, name, created_at, last_used_at, works_alone }) => [
    html`<a href="${PASSKEYS_PATH}/${id}">${name}</a>`,
    moment(created_at),
    last_used_at ? moment(last_used_at) : "Never",
    works_alone ? "Alone" : "After the password",
  ]),
  empty: "You have no passkeys.",
})}
${
  can_use_passkeys
    ? html`<p><a href="${NEW_PASSKEY_PATH}">Add a passkey</a></p>`
    : html`<p class="muted">Passkeys need a public URL with https and a host name.</p>`
}
</section>`;
}

function factorSection(shown: Shown): Html {
  const { session, security, problem } = shown;
  const { app_since, passkeys, recovery_codes_left } = security;
  const text = problem?.section === "factor" ? problem.text : null;
  const has_factor = app_since !== null || passkeys.length > 0;
  return html`<section class="card" aria-labelledby="factor-title">
<h2 id="factor-title">Second factor</h2>
${problemLine(text)}
${
  !has_factor &&
  html`<p>Not set up. With a passkey, or an authenticator app on your phone, a stolen password is
not enough to sign in as you.</p>`
}
${
  has_factor &&
  html`<dl>
${app_since && html`<div><dt>Authenticator app</dt><dd>Since ${moment(app_since)}</dd></div>`}
${passkeys.length > 0 && html`<div><dt>Passkeys</dt><dd>${passkeys.length}</dd></div>`}
<div><dt>Recovery codes left</dt><dd>${recovery_codes_left}</dd></div>
</dl>`
}
${app_since === null && html`<p><a href="${ENROL_PATH}">Set up an authenticator app</a></p>`}
${has_factor && factorChanges(session, shown, text)}
</section>`;
}

function factorChanges(session: MemberSession, shown: Shown, text: string | null): Html {
  const { app_since, passkeys, is_factor_needed } = shown.security;
  const or_passkey = shown.can_use_passkeys && passkeys.length > 0;
  const is_last = app_since !== null && passkeys.length === 0;
  const summary = app_since ? "Change the second factor" : "Replace the recovery codes";
  return html`<details><summary>${summary}</summary>
<p>This needs your password and a second factor.${
    is_factor_needed &&
    is_last &&
    " Your role needs one: if you remove it, set up another one right after."
  }</p>
<form class="narrow" method="post"${
    or_passkey && passkeyAttributes("get", `${SECURITY_PATH}/challenge`)
  }>
${csrfField(session.csrf)}
${passwordField("password", "Password")}
${codeField(text, session, or_passkey ? "or_passkey" : "required")}
${or_passkey && CREDENTIAL_FIELD}
<div class="buttons">
<button type="submit" formaction="${SECURITY_PATH}/recovery-codes">New recovery codes</button>
${
  app_since &&
  html`<button type="submit" formaction="${ENROL_PATH}/remove">Remove authenticator app</button>`
}
</div>
</form>
</details>`;
}

function sessionsSection({ session, security }: Shown): Html {
  const { sessions } = security;
  const end = (id: string) => html`<form method="post" action="${SECURITY_PATH}/sessions/end">
${csrfField(session.csrf)}<input type="hidden" name="session_id" value="${id}">
<button class="plain" type="submit">End<span class="hidden"> this session</span></button></form>`;
  return html`<section class="card" aria-labelledby="sessions-title">
<h2 id="sessions-title">Sessions</h2>
${table({
  label: "Your sessions, last used first",
  columns: ["Device", "Network", "Account", "Signed in", "Last used", "End"],
  rows: sessions.map((one) => [
    one.device,
    one.network,
    one.account_name,
    moment(one.created_at),
    moment(one.used_at),
    one.is_this ? "This session" : end(one.id),
  ]),
  empty: "You have no sessions.",
})}
${
  sessions.length > 1 &&
  html`<form class="buttons" method="post" action="${SECURITY_PATH}/sessions/end-others">
${csrfField(session.csrf)}<button type="submit">End all other sessions</button></form>`
}
</section>`;
}

function passwordField(name: string, label: string): Html {
  return html`<label for="${name}-field">${label}</label>
<input id="${name}-field" name="${name}" type="password" autocomplete="current-password" required
  maxlength="200">`;
}

/** The page that sets up an authenticator app; also for people who must before they go on. */
export function enrolPage(options: {
  mode: Mode;
  session: MemberSession;
  seed: Buffer;
  /** The seed in the form that the page sends back. */
  sealed_seed: string;
  next: string;
  problem: string | null;
  /** Whether this site can have passkeys. */
  has_passkeys: boolean;
}): Html {
  const { mode, session, seed, sealed_seed, next, problem, has_passkeys } = options;
  const is_member = session.state === "active";
  const content = html`${problemLine(problem)}
${!is_member && html`<p>Your role needs a second factor. Set it up to go on.</p>`}
<ol class="asks">
<li>Open an authenticator app on your phone and scan this code.</li>
<li>Enter the six digits that the app shows.</li>
</ol>
<p class="qr">${raw(renderSVG(totpUri(seed, session.email), { border: 2 }))}</p>
<details><summary>Enter it by hand instead</summary>
<p>Key: <code>${seedText(seed)}</code></p></details>
<form class="narrow" method="post" action="${ENROL_PATH}">
${csrfField(session.csrf)}
<input type="hidden" name="next" value="${next}">
<input type="hidden" name="seed" value="${sealed_seed}">
<label for="code">Code</label>
<input id="code" name="code" autocomplete="one-time-code" inputmode="numeric" required
  maxlength="12"${problem !== null && html` aria-describedby="problem"`}>
<button class="primary" type="submit">Set up</button>
</form>`;
  const title = is_member ? "Set up an authenticator app" : "Set up a second factor";
  const body = is_member
    ? html`<p><a href="${SECURITY_PATH}">Security</a></p>
<div class="heading"><h1>${title}</h1></div><section class="card">${content}</section>`
    : html`<h1>${title}</h1>${content}
${has_passkeys && passkeyInstead(next)}
<form method="post" action="/sign-out">${csrfField(session.csrf)}
<button class="plain" type="submit">Sign out</button></form>`;
  return page({ title, mode, session: is_member ? session : null, body });
}

/** Shown once. */
export function recoveryCodesPage(options: {
  mode: Mode;
  recovery_codes: readonly string[];
  next: string;
}): Html {
  const { mode, recovery_codes, next } = options;
  const body = html`<h1>Your recovery codes</h1>
<p>Each signs you in once, without your phone. Store them where you keep passwords: they are not
shown again.</p>
<ul class="codes">${recovery_codes.map(
    (code) => html`<li><code>${code}</code></li>
`,
  )}</ul>
<p><a href="${next}">I have stored them: go on</a></p>`;
  return page({ title: "Your recovery codes", mode, session: null, body });
}
