import type { Mode } from "../../platform/config/config.ts";
import { type Html, html } from "../../platform/http/html.ts";
import { csrfField, moment, page } from "../../platform/pages/layout.ts";
import { ENROL_PATH, NEW_PASSKEY_PATH, PASSKEYS_PATH, SECURITY_PATH } from "../page-paths.ts";
import { codeField } from "../sign-in/pages.ts";
import { problemLine } from "../sign-in/password-pages.ts";
import type { MemberSession } from "../sign-in/sessions.ts";
import type { ShownPasskey } from "./change-passkeys.ts";
import { CREDENTIAL_FIELD, PASSKEY_SCRIPT, passkeyAttributes } from "./form.ts";
import { PASSKEY_NAME_LENGTH_MAX } from "./model.ts";

/** Adds a passkey; also for people who must have a second factor before they go on. */
export function newPasskeyPage(options: {
  mode: Mode;
  session: MemberSession;
  name: string;
  next: string;
  problem: string | null;
}): Html {
  const { mode, session, name, next, problem } = options;
  const is_member = session.state === "active";
  const create = passkeyAttributes("create", `${PASSKEYS_PATH}/challenge`);
  const content = html`${problemLine(problem)}
${!is_member && html`<p>Your role needs a second factor. A passkey is one.</p>`}
<p>Your device, password manager or security key keeps the passkey and uses it after your
fingerprint, face or PIN. It works on this site only: a fake site cannot use it.</p>
<form class="narrow" method="post" action="${PASSKEYS_PATH}"${create} hidden>
${csrfField(session.csrf)}
<input type="hidden" name="next" value="${next}">
${nameField(name)}
${CREDENTIAL_FIELD}
<button class="primary" type="submit">Add passkey</button>
</form>
<p class="note" data-without-passkeys>This browser has no passkeys, or does not run scripts here.
Use another browser${!is_member && html`, or <a href="${ENROL_PATH}">an app</a>`}.</p>`;
  const title = "Add a passkey";
  const body = is_member
    ? html`<p><a href="${SECURITY_PATH}">Security</a></p>
<div class="heading"><h1>${title}</h1></div><section class="card">${content}</section>`
    : html`<h1>${title}</h1>${content}
<p class="hint"><a href="${ENROL_PATH}">Use an authenticator app instead</a></p>`;
  return page({ title, mode, session: is_member ? session : null, body, head: PASSKEY_SCRIPT });
}

/** One passkey: its name, and what is needed to remove it. */
export function passkeyPage(options: {
  mode: Mode;
  session: MemberSession;
  passkey: ShownPasskey;
  is_last_factor: boolean;
  problem: { section: "name" | "remove"; text: string } | null;
}): Html {
  const { mode, session, passkey, is_last_factor, problem } = options;
  const { last_used_at: used_at } = passkey;
  const path = `${PASSKEYS_PATH}/${passkey.id}`;
  const text = (section: "name" | "remove") => (problem?.section === section ? problem.text : null);
  const get = passkeyAttributes("get", `${SECURITY_PATH}/challenge`);
  const body = html`<p><a href="${SECURITY_PATH}">Security</a></p>
<div class="heading"><h1>${passkey.name}</h1></div>
<section class="card" aria-labelledby="name-title">
<h2 id="name-title">Passkey</h2>
${problemLine(text("name"))}
<dl>
<div><dt>Added</dt><dd>${moment(passkey.created_at)}</dd></div>
<div><dt>Last used</dt><dd>${used_at ? moment(used_at) : "Never"}</dd></div>
</dl>
<form class="narrow" method="post" action="${path}/rename">
${csrfField(session.csrf)}
${nameField(passkey.name)}
<button type="submit">Rename</button>
</form>
</section>
<section class="card" aria-labelledby="remove-title">
<h2 id="remove-title">Remove this passkey</h2>
${problemLine(text("remove"))}
<p>It no longer signs you in, here or on devices that share it. All your other sessions end.${
    is_last_factor && " It is your only second factor: your recovery codes go with it."
  } Delete it on your device or in your password manager too.</p>
<form class="narrow" method="post" action="${path}/remove"${get}>
${csrfField(session.csrf)}
<label for="password">Password</label>
<input id="password" name="password" type="password" autocomplete="current-password" required
  maxlength="200">
${codeField(text("remove"), session, "or_passkey")}
${CREDENTIAL_FIELD}
<button type="submit">Remove passkey</button>
</form>
</section>`;
  return page({ title: passkey.name, mode, session, body, head: PASSKEY_SCRIPT });
}

function nameField(name: string): Html {
  return html`<label for="name">Name</label>
<input id="name" name="name" required maxlength="${PASSKEY_NAME_LENGTH_MAX}" autocomplete="off"
  value="${name}" aria-describedby="name-rule">
<p class="muted" id="name-rule">So that you recognize it: for example, the device that keeps
it.</p>`;
}

/** Where a passkey is added instead of an authenticator app. */
export function passkeyInstead(next: string): Html {
  const path = `${NEW_PASSKEY_PATH}?next=${encodeURIComponent(next)}`;
  return html`<p class="hint"><a href="${path}">Use a passkey instead</a></p>`;
}
