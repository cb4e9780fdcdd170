import type { Mode } from "../platform/config/config.ts";
import { type Html, html } from "../platform/http/html.ts";
import { page } from "../platform/pages/layout.ts";
import type { MemberSession } from "./sign-in/sessions.ts";

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
