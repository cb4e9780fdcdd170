import type { KoaContextWithOIDC } from "oidc-provider";
import { PAGE_HEADERS } from "../../accounts/page-scope.ts";
import type { Mode } from "../../platform/config/config.ts";
import { html } from "../../platform/http/html.ts";
import { page } from "../../platform/pages/layout.ts";

/**
 * Shown to the person when the error cannot be sent to the application: its redirect URI is missing
 * or not registered.
 */
export function showOauthError(
  mode: Mode,
  ctx: KoaContextWithOIDC,
  out: { error: string; error_description?: string | undefined },
): void {
  if (ctx.accepts("json", "html") !== "html") {
    ctx.body = out;
    return;
  }
  const body = html`<h1>This request cannot be carried out</h1>
<p>Go back to the application and start again. If it happens once more, tell its makers what stands
below.</p>
<p class="hint"><code>${out.error}</code>${
    out.error_description !== undefined && html`: ${out.error_description}`
  }</p>`;
  ctx.set(PAGE_HEADERS);
  ctx.type = "text/html; charset=utf-8";
  ctx.body = page({ title: "Request refused", mode, session: null, body }).text;
}
