import type { Mode } from "../../platform/config/config.ts";
import { type Html, html } from "../../platform/http/html.ts";
import { csrfField, page } from "../../platform/pages/layout.ts";
import { CONFIRM_PATH, FACTOR_PATH } from "../page-paths.ts";
import { FORGOT_PATH, problemLine } from "./password-pages.ts";
import type { MemberSession } from "./sessions.ts";

export function signInPage(options: {
  mode: Mode;
  csrf: string;
  next: string;
  email: string;
  /** The problem and how to fix it, after a refused attempt. */
  problem: string | null;
  /** After a password was set by a link. */
  is_password_set: boolean;
}): Html {
  const { mode, csrf, next, email, problem, is_password_set } = options;
  const described = problem === null ? null : html` aria-describedby="problem"`;
  // Focus the field to type in: after a refusal that is the password.
  const [in_email, in_password] =
    email === "" ? [html` autofocus`, null] : [null, html` autofocus`];
  const body = html`<h1>Sign in</h1>
${is_password_set && html`<p class="note" role="status">Your password is set. Sign in with it.</p>`}
${problemLine(problem)}
<form method="post" action="/sign-in">
${csrfField(csrf)}
<input type="hidden" name="next" value="${next}">
<label for="email">E-mail</label>
<input id="email" name="email" type="email" autocomplete="username" required maxlength="254"
  autocapitalize="none" spellcheck="false" value="${email}"${in_email}${described}>
<label for="password">Password</label>
<input id="password" name="password" type="password" autocomplete="current-password" required
  maxlength="200"${in_password}${described}>
<button class="primary wide" type="submit">Sign in</button>
</form>
<p class="hint"><a href="${FORGOT_PATH}">Forgot your password?</a></p>
${mode === "sandbox" && html`<p class="hint">This is a sandbox. No real money moves here.</p>`}`;
  return page({ title: "Sign in", mode, session: null, body });
}

/** The second step of signing in. */
export function factorPage(options: {
  mode: Mode;
  csrf: string;
  next: string;
  problem: string | null;
}): Html {
  const { mode, csrf, next, problem } = options;
  const body = html`<h1>Second factor</h1>
${problemLine(problem)}
<form method="post" action="${FACTOR_PATH}">
${csrfField(csrf)}
<input type="hidden" name="next" value="${next}">
${codeField(problem)}
<button class="primary wide" type="submit">Sign in</button>
</form>
<p class="hint">Lost your phone? Enter one of your recovery codes instead. If you have none left,
ask an admin of your account.</p>
<form method="post" action="/sign-out">${csrfField(csrf)}
<button class="plain" type="submit">Start again</button></form>`;
  return page({ title: "Second factor", mode, session: null, body });
}

/** Asks for the password or the second factor again. */
export function confirmPage(options: {
  mode: Mode;
  session: MemberSession;
  next: string;
  problem: string | null;
}): Html {
  const { mode, session, next, problem } = options;
  const form = (field: Html) => html`<form class="narrow" method="post" action="${CONFIRM_PATH}">
${csrfField(session.csrf)}
<input type="hidden" name="next" value="${next}">
<input type="hidden" name="username" autocomplete="username" value="${session.email}">
${field}
<button class="primary" type="submit">Confirm</button>
</form>`;
  const body = html`<div class="heading"><h1>Confirm it is you</h1></div>
<section class="card">
${problemLine(problem)}
<p>This needs your password${session.has_factor && " or your second factor"}, which you gave more
than ten minutes ago. Nothing was done yet: afterwards, do it again.</p>
${form(html`<label for="password">Password</label>
<input id="password" name="password" type="password" autocomplete="current-password" required
  maxlength="200"${problem !== null && html` aria-describedby="problem"`}>`)}
</section>
${
  session.has_factor &&
  html`<section class="card"><h2>Or with your second factor</h2>
${form(codeField(null))}</section>`
}`;
  return page({ title: "Confirm it is you", mode, session, body });
}

/** The field for a code of an authenticator app, or a recovery code. */
export function codeField(problem: string | null): Html {
  return html`<label for="code">Code</label>
<input id="code" name="code" autocomplete="one-time-code" required maxlength="40"
  autocapitalize="none" spellcheck="false" aria-describedby="code-rule${
    problem !== null && " problem"
  }">
<p class="muted" id="code-rule">The six digits that your authenticator app shows, or a recovery
code.</p>`;
}
