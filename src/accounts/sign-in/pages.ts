import type { Mode } from "../../platform/config/config.ts";
import { type Html, html } from "../../platform/http/html.ts";
import { csrfField, page } from "../../platform/pages/layout.ts";
import { CONFIRM_PATH, FACTOR_PATH, PASSKEY_SIGN_IN_PATH } from "../page-paths.ts";
import { OR, PASSKEY_SCRIPT, passkeyForm } from "../passkeys/form.ts";
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
  /** Whether this site can have passkeys. */
  has_passkeys: boolean;
}): Html {
  const { mode, csrf, next, email, problem, is_password_set, has_passkeys } = options;
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
${
  has_passkeys &&
  passkeyForm({
    action: PASSKEY_SIGN_IN_PATH,
    challenge_path: `${PASSKEY_SIGN_IN_PATH}/challenge`,
    ...{ csrf, next, label: "Sign in with a passkey", button: "wide" },
  })
}
<p class="hint"><a href="${FORGOT_PATH}">Forgot your password?</a></p>
${mode === "sandbox" && html`<p class="hint">This is a sandbox. No real money moves here.</p>`}`;
  const head = has_passkeys ? PASSKEY_SCRIPT : null;
  return page({ title: "Sign in", mode, session: null, body, head });
}

/** The second step of signing in. */
export function factorPage(options: {
  mode: Mode;
  session: MemberSession;
  next: string;
  problem: string | null;
  /** Whether the person has passkeys that can be used at this site. */
  has_passkeys: boolean;
}): Html {
  const { mode, session, next, problem, has_passkeys } = options;
  const { csrf } = session;
  const body = html`<h1>Second factor</h1>
${problemLine(problem)}
${
  has_passkeys &&
  passkeyForm({
    action: FACTOR_PATH,
    challenge_path: `${FACTOR_PATH}/challenge`,
    ...{ csrf, next, label: "Use your passkey", button: "primary wide" },
  })
}
${has_passkeys && OR}
<form method="post" action="${FACTOR_PATH}">
${csrfField(csrf)}
<input type="hidden" name="next" value="${next}">
${codeField(problem, session)}
<button class="${has_passkeys ? "" : "primary "}wide" type="submit">Sign in</button>
</form>
<p class="hint">${
    session.has_app
      ? "Lost your phone? Enter one of your recovery codes instead."
      : "Lost the device with your passkey? Enter one of your recovery codes."
  } If you have none left, ask an admin of your account.</p>
<form method="post" action="/sign-out">${csrfField(csrf)}
<button class="plain" type="submit">Start again</button></form>`;
  const head = has_passkeys ? PASSKEY_SCRIPT : null;
  return page({ title: "Second factor", mode, session: null, body, head });
}

/** Asks for the password or the second factor again. */
export function confirmPage(options: {
  mode: Mode;
  session: MemberSession;
  next: string;
  problem: string | null;
  has_passkeys: boolean;
  /** The password is not enough. */
  needs_factor: boolean;
}): Html {
  const { mode, session, next, problem, has_passkeys, needs_factor } = options;
  const { csrf } = session;
  const form = (field: Html) => html`<form class="narrow" method="post" action="${CONFIRM_PATH}">
${csrfField(session.csrf)}
<input type="hidden" name="next" value="${next}">
${needs_factor && html`<input type="hidden" name="factor" value="1">`}
<input type="hidden" name="username" autocomplete="username" value="${session.email}">
${field}
<button class="primary" type="submit">Confirm</button>
</form>`;
  const what = needs_factor
    ? "the second factor that you have"
    : `your password${session.has_factor ? " or your second factor" : ""}`;
  const by_password = form(html`<label for="password">Password</label>
<input id="password" name="password" type="password" autocomplete="current-password" required
  maxlength="200"${problem !== null && html` aria-describedby="problem"`}>`);
  const by_factor = html`${
    has_passkeys &&
    passkeyForm({
      action: CONFIRM_PATH,
      challenge_path: `${CONFIRM_PATH}/challenge`,
      ...{ csrf, next, label: "Use your passkey", button: "primary" },
    })
  }
${has_passkeys && OR}
${form(codeField(null, session))}`;
  const body = html`<div class="heading"><h1>Confirm it is you</h1></div>
<section class="card">
${problemLine(problem)}
<p>This needs ${what}, which you did not give in the last ten minutes. Nothing was done yet:
afterwards, do it again.</p>
${needs_factor ? by_factor : by_password}
</section>
${
  session.has_factor &&
  !needs_factor &&
  html`<section class="card"><h2>Or with your second factor</h2>
${by_factor}</section>`
}`;
  const head = has_passkeys ? PASSKEY_SCRIPT : null;
  return page({ title: "Confirm it is you", mode, session, body, head });
}

/** The field for a code of an authenticator app, or a recovery code; a passkey may replace it. */
export function codeField(
  problem: string | null,
  { has_app }: Pick<MemberSession, "has_app">,
  needed: "required" | "or_passkey" = "required",
): Html {
  const rule = has_app
    ? "The six digits that your authenticator app shows, or a recovery code."
    : "One of those that you stored when you set up your second factor.";
  return html`<label for="code">${has_app ? "Code" : "Recovery code"}</label>
<input id="code" name="code" autocomplete="one-time-code" maxlength="40"
  autocapitalize="none" spellcheck="false" aria-describedby="code-rule${
    problem !== null && " problem"
  }"${needed === "required" && html` required`}>
<p class="muted" id="code-rule">${rule}${
    needed === "or_passkey" && " Leave it empty to use a passkey."
  }</p>`;
}
