import { ROLE_NAMES } from "../../accounts/roles.ts";
import type { MemberSession } from "../../accounts/sign-in/sessions.ts";
import type { Membership } from "../../accounts/store.ts";
import type { Mode } from "../../platform/config/config.ts";
import { type Html, html } from "../../platform/http/html.ts";
import { csrfField, page } from "../../platform/pages/layout.ts";
import { SCOPES, type Scope } from "./model.ts";

export function consentPage(options: {
  mode: Mode;
  session: MemberSession;
  path: string;
  app: { name: string; owner: string };
  scopes: readonly Scope[];
  /** The person's accounts whose role, and second factor, allow the requested scopes. */
  memberships: readonly Membership[];
  /** The host that receives the answer, shown so that the person can judge it. */
  redirect_host: string;
}): Html {
  const { mode, session, path, app, scopes, memberships, redirect_host } = options;
  const again = `/sign-in?again=1&next=${encodeURIComponent(path)}`;
  const body = html`<h1>Allow ${app.name} to use your account?</h1>
<p>${app.name} is an application of <strong>${app.owner}</strong>. It asks to:</p>
<ul class="asks">${scopes.map((scope) => html`<li>${SCOPES[scope]}</li>`)}
<li>Be told, by webhook, of every invoice and salary that the account sends or receives</li></ul>
<form method="post" action="${path}">
${csrfField(session.csrf)}
${
  memberships.length === 0
    ? html`<p class="alert" role="alert">Your role does not allow this in any of your accounts,
or needs a second factor that you have not set up. Ask an admin of the account.</p>`
    : accountChoice(session, memberships)
}
<div class="choice">
<button type="submit" name="decision" value="deny">Deny</button>
${
  memberships.length > 0 &&
  html`<button class="primary" type="submit" name="decision" value="allow">Allow</button>`
}
</div>
</form>
<p class="hint">You will be redirected to <strong>${redirect_host}</strong>. You can revoke access
at any time under Dashboard, Applications.</p>
<p class="hint">Signed in as ${session.email}.
<a href="${again}">Sign in as another person</a></p>`;
  return page({ title: `Allow ${app.name} to use your account?`, mode, session: null, body });
}

/** Ends a redirect chain that began with a form: the CSP would block leaving the site. */
export function continuePage(mode: Mode, url: string): Html {
  const body = html`<h1>One moment</h1>
<p><a href="${url}">Continue</a> if nothing happens.</p>`;
  return page({ title: "One moment", mode, session: null, body });
}

export function expiredPage(mode: Mode): Html {
  const body = html`<h1>This request has expired</h1>
<p>It was already answered, or it timed out. Go back to the application and start again.</p>`;
  return page({ title: "Request expired", mode, session: null, body });
}

function accountChoice(session: MemberSession, memberships: readonly Membership[]): Html {
  const [first] = memberships;
  const is_current = memberships.some(({ account_id }) => account_id === session.account_id);
  const chosen = is_current ? session.account_id : first!.account_id;
  return html`<label for="account_id">For the account</label>
<select id="account_id" name="account_id">${memberships.map(
    ({ account_id, account_name, role }) =>
      html`<option value="${account_id}"${
        account_id === chosen && html` selected`
      }>${account_name} (${ROLE_NAMES[role]})</option>`,
  )}</select>`;
}
