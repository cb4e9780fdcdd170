import { existsSync } from "node:fs";
import { isAbsolute, relative, resolve } from "node:path";
import type { Core } from "../../app/open-core.ts";
import type { Config } from "../../platform/config/config.ts";
import { type FirstSecrets, relativeToHere, sandboxKeyFile } from "../first-start.ts";

/** What is printed when the service is ready: its URL, the key, what to paste next. */
export function greetingLines(input: {
  public_url: string;
  core: Core;
  notice: string | null;
  secrets: FirstSecrets;
}): string[] {
  const { public_url, core, notice, secrets } = input;
  const key_file = findKeyFile(core.config);
  const key = secrets.api_key ?? (key_file ? `$(cat ${key_file})` : "<your API key>");
  const lines = [
    "",
    `Sliproad is ready (${core.config.mode}).`,
    "",
    `  Address    ${public_url}`,
    `  Docs       ${public_url}/docs`,
    `  Dashboard  ${public_url}/dashboard`,
  ];
  if (secrets.lines.length > 0) {
    lines.push(...secrets.lines);
  } else {
    const where = key_file ? `in ${key_file}` : "shown on the first start";
    lines.push(`  API key    ${where}; create another with sliproad keys create`);
  }
  if (notice) lines.push("", notice);
  lines.push("", ...nextLines(core, public_url, key));
  return lines;
}

/** Quoted, to be pasted where the service was started; null where there is none. */
function findKeyFile(config: Config): string | null {
  const file = sandboxKeyFile(config);
  return existsSync(file) ? quoteForShell(relativeToHere(file)) : null;
}

/** The same for programs, with null for what only the first start has. It contains no secret. */
export function readyFacts(core: Core, public_url: string | null, secrets: FirstSecrets) {
  const { config, first_start } = core;
  return {
    mode: config.mode,
    url: public_url,
    docs_url: public_url && `${public_url}/docs`,
    dashboard_url: public_url && `${public_url}/dashboard`,
    data_dir: config.data_dir,
    api_key_file: existsSync(sandboxKeyFile(config)) ? sandboxKeyFile(config) : null,
    admin_email: first_start.created?.admin_email ?? null,
    first_start_secrets_file: secrets.file,
  };
}

/** The first line to paste shows a whole payout, the second how to begin one manually. */
function nextLines({ config }: Core, public_url: string, key: string): string[] {
  const demo =
    config.mode === "sandbox"
      ? ["Next, run a complete payout:", "", `  ${demoCommand(config)}`, ""]
      : [];
  return [
    ...demo,
    demo.length > 0 ? "Or start one by hand:" : "Next, paste this:",
    "",
    `  curl ${public_url}/users -H "Authorization: Bearer ${key}" \\`,
    "    -H 'Content-Type: application/json' \\",
    `    -d '{"user":{"beneficiary_type":"individual","email":"ana.sample@example.com",` +
      `"first_name":"Ana","last_name":"Sample"}}'`,
    "",
  ];
}

/** To be pasted where the service was started, in a clone or elsewhere. */
function demoCommand({ data_dir }: Config): string {
  const script = process.argv[1] ?? "";
  const from_here = relative(process.cwd(), script);
  const is_near = script !== "" && !from_here.startsWith("..") && !isAbsolute(from_here);
  const is_default = resolve(data_dir) === resolve(".sliproad");
  const setting = is_default ? "" : `SLIPROAD_DATA_DIR=${quoteForShell(data_dir)} `;
  return `${setting}${is_near ? quoteForShell(from_here) : "sliproad"} demo`;
}

function quoteForShell(text: string): string {
  return /^[\w./-]+$/.test(text) ? text : `'${text.replaceAll("'", "'\\''")}'`;
}
