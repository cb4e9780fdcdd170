import type { Mode } from "../../platform/config/config.ts";
import { type Html, html } from "../../platform/http/html.ts";
import { csrfField, page } from "../../platform/pages/layout.ts";
import { PASSWORD_LENGTH_MAX, PASSWORD_LENGTH_MIN } from "./check-password.ts";
import { SET_PASSWORD_PATH } from "./password-links.ts";

export const FORGOT_PATH = "/forgot-password";

type FormPage = { mode: Mode; csrf: string; problem: string | null };

export function forgotPage({ mode, csrf, problem, email }: FormPage & { email: string }): Html {
  const body = html`<h1>Reset your password</h1>
${problemLine(problem)}
<p>Enter your e-mail address. If it belongs to a member, a mail with a link is sent to it.</p>
<form method="post" action="${FORGOT_PATH}">
${csrfField(csrf)}
<label for="email">E-mail</label>
<input id="email" name="email" type="email" autocomplete="username" required maxlength="254"
  autocapitalize="none" spellcheck="false" value="${email}" autofocus${described(problem)}>
<button class="primary wide" type="submit">Send a link</button>
</form>
<p class="hint"><a href="/sign-in">Back to sign-in</a></p>`;
  return page({ title: "Reset your password", mode, session: null, body });
}

/** The same for a known and an unknown address. */
export function linkSentPage(mode: Mode): Html {
  const body = html`<h1>Check your mail</h1>
<p>If the address belongs to a member, a mail with a link is on its way. The link works once,
within one hour. No mail? Look in the spam folder, or ask an admin of your account which address
they used.</p>
<p><a href="/sign-in">Back to sign-in</a></p>`;
  return page({ title: "Check your mail", mode, session: null, body });
}

export function setPasswordPage(options: FormPage & { token: string; email: string }): Html {
  const { mode, csrf, problem, token, email } = options;
  const body = html`<h1>Choose a password</h1>
${problemLine(problem)}
<form method="post" action="${SET_PASSWORD_PATH}">
${csrfField(csrf)}
<input type="hidden" name="token" value="${token}">
<label for="email">E-mail</label>
<input id="email" name="email" type="email" autocomplete="username" readonly value="${email}">
${newPasswordField(problem)}
<button class="primary wide" type="submit">Set password</button>
</form>`;
  return page({ title: "Choose a password", mode, session: null, body });
}

export function linkEndedPage(mode: Mode): Html {
  const body = html`<h1>This link no longer works</h1>
<p>It was used already, has expired, or is not complete. A link works once, within one hour.</p>
<p><a href="${FORGOT_PATH}">Request another link</a></p>`;
  return page({ title: "This link no longer works", mode, session: null, body });
}

/** The field for a new password, with what is required of it. */
export function newPasswordField(problem: string | null): Html {
  return html`<label for="password">New password</label>
<input id="password" name="password" type="password" autocomplete="new-password" required
  minlength="${PASSWORD_LENGTH_MIN}" maxlength="${PASSWORD_LENGTH_MAX}"
  aria-describedby="password-rule${problem !== null && " problem"}">
<p class="muted" id="password-rule">At least ${PASSWORD_LENGTH_MIN} characters, and none that
attackers try first. Four words that do not belong together are good.</p>`;
}

export function problemLine(problem: string | null): Html {
  if (problem === null) return html``;
  return html`<p class="alert" id="problem" role="alert">${problem}</p>`;
}

function described(problem: string | null): Html | null {
  return problem === null ? null : html` aria-describedby="problem"`;
}
