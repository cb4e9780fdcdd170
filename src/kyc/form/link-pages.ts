import type { Mode } from "../../platform/config/config.ts";
import { type Html, html } from "../../platform/http/html.ts";
import { page } from "../../platform/pages/layout.ts";

const TITLES: Readonly<Record<number, string>> = {
  404: "This link is not valid",
  410: "This link no longer works",
  429: "Too many attempts",
  503: "Not available right now",
};
const UNKNOWN = "Check that you copied the whole URL, or ask the sender for a new link.";

/** Without script, for people whose link does not work. */
export function linkProblemPage(mode: Mode, status: number, message: string | null): Html {
  const title = TITLES[status] ?? "This did not work";
  const text = status === 404 ? UNKNOWN : (message ?? "Wait a moment, then try again.");
  return page({ title, mode, session: null, body: html`<h1>${title}</h1>\n<p>${text}</p>` });
}

/** The pages of dashboard/ were not built: the operator must fix that. */
export function notBuiltPage(mode: Mode): Html {
  const body = html`<h1>This page was not built</h1>
<p>The operator must run <code>npm run build</code> and restart Sliproad.</p>`;
  return page({ title: "This page was not built", mode, session: null, body });
}
