import { writeFile } from "node:fs/promises";
import { join, relative } from "node:path";
import type { Core } from "../app/open-core.ts";
import type { Config } from "../platform/config/config.ts";
import { ensureDataDir } from "../platform/instance.ts";
import { replaceSecretFile } from "../platform/secret-file.ts";

/** The sandbox stores its first key, so that the command line can use it. */
export async function keepSandboxKey({ config, first_start }: Core): Promise<void> {
  if (config.mode !== "sandbox" || !first_start.created) return;
  await ensureDataDir(config.data_dir);
  await writeFile(sandboxKeyFile(config), `${first_start.created.api_key}\n`, { mode: 0o600 });
}

export function sandboxKeyFile({ data_dir }: Config): string {
  return join(data_dir, "sandbox-api-key");
}

/** The secrets generated at the first start: shown on a terminal, else stored in a file. */
export type FirstSecrets = {
  lines: string[];
  /** Null when there is no such file. */
  file: string | null;
  /** The key itself, where it may be shown. */
  api_key: string | null;
};

/**
 * More people read a log than a terminal, and it is kept longer: without a terminal the secrets are
 * written to a file that only its owner can read, before anything else can fail.
 */
export async function keepFirstSecrets(
  { config, first_start: { created } }: Core,
  has_terminal: boolean,
): Promise<FirstSecrets> {
  if (!created) return { lines: [], file: null, api_key: null };
  const { api_key, admin_email, admin_password, given } = created;
  const is_generated = !given.api_key || !given.admin_password;
  if (has_terminal || !is_generated) {
    const key = given.api_key ? "as set in SLIPROAD_API_KEY" : api_key;
    const password = given.admin_password ? "with the password that you set" : admin_password;
    const lines = [`  API key    ${key}`, `  Sign in    ${admin_email}  ${password}`];
    if (is_generated) lines.push("", "Store these now: they are not shown again.");
    return { lines, file: null, api_key: given.api_key ? null : api_key };
  }
  const file = join(config.data_dir, "first-start-secrets");
  await ensureDataDir(config.data_dir);
  const kept = [
    ...(given.api_key ? [] : [`SLIPROAD_API_KEY=${api_key}`]),
    ...(given.admin_password ? [] : [`SLIPROAD_ADMIN_PASSWORD=${admin_password}`]),
  ];
  replaceSecretFile(file, `${kept.join("\n")}\n`);
  const where = relativeToHere(file);
  const key = given.api_key ? "as set in SLIPROAD_API_KEY" : `in ${where}`;
  const password = given.admin_password ? "as you set it" : `in ${where}`;
  const lines = [
    `  API key    ${key}`,
    `  Sign in    ${admin_email}, password ${password}`,
    "",
    `Read ${where} (mode 0600), store its content in a safe place, then delete it.`,
  ];
  return { lines, file, api_key: null };
}

export function relativeToHere(file: string): string {
  const from_here = relative(process.cwd(), file);
  return from_here.startsWith("..") ? file : from_here;
}
