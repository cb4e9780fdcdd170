import type { Core } from "../app.ts";
import { tellFirstStart } from "./first-start.ts";

/** What a person sees when the service is ready: where it is, the key, what to paste next. */
export function greetingLines(input: {
  public_url: string;
  core: Core;
  notice: string | null;
}): string[] {
  const { public_url, core, notice } = input;
  const made = core.first_start.created;
  const key = made?.api_key ?? "<your API key>";
  const lines = [
    "",
    `Sliproad is ready (${core.config.mode}).`,
    "",
    `  Address    ${public_url}`,
    `  Reference  ${public_url}/docs`,
    `  Dashboard  ${public_url}/dashboard`,
  ];
  if (made) {
    lines.push(...tellFirstStart(made));
  } else {
    const label = core.config.mode === "sandbox" ? "sk_test_…" : "sk_live_…";
    lines.push(
      `  API key    ${label} (shown on the first start; sliproad keys create makes another)`,
    );
  }
  if (notice) lines.push("", notice);
  lines.push(
    "",
    "Next, paste this:",
    "",
    `  curl ${public_url}/users -H 'Authorization: Bearer ${key}' \\`,
    "    -H 'Content-Type: application/json' \\",
    `    -d '{"user":{"beneficiary_type":"individual","email":"ana.sample@example.com",` +
      `"first_name":"Ana","last_name":"Sample"}}'`,
    "",
  );
  return lines;
}
