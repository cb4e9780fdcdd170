import { type Html, html } from "../../platform/http/html.ts";
import { csrfField } from "../../platform/pages/layout.ts";

export const PASSKEY_ASSETS_PATH = "/assets/passkeys";

/** Shows the forms for passkeys where the browser has them, and asks it for one. */
export const PASSKEY_SCRIPT = html`<script type="module"
  src="${PASSKEY_ASSETS_PATH}/passkeys.js"></script>`;

/** Between a passkey and another way; shown together with the form for the passkey. */
export const OR = html`<p class="or" data-with-passkeys hidden>or</p>`;

/** The attributes of a form that the script sends with a passkey in `credential`. */
export function passkeyAttributes(kind: "get" | "create", challenge_path: string): Html {
  return html` data-passkey="${kind}" data-challenge="${challenge_path}"`;
}

export const CREDENTIAL_FIELD = html`<input type="hidden" name="credential">
<p class="alert" role="alert" data-problem hidden></p>`;

/** A form with one button, hidden until the script finds that the browser has passkeys. */
export function passkeyForm(options: {
  action: string;
  challenge_path: string;
  csrf: string;
  next: string;
  label: string;
  button: string;
}): Html {
  const { action, challenge_path, csrf, next, label, button } = options;
  const get = passkeyAttributes("get", challenge_path);
  return html`<form method="post" action="${action}"${get} hidden>
${csrfField(csrf)}
<input type="hidden" name="next" value="${next}">
${CREDENTIAL_FIELD}
<button class="${button}" type="submit">${label}</button>
</form>`;
}
