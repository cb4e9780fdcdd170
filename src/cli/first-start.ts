import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import type { FirstStart } from "../access/first-start.ts";
import type { Core } from "../app.ts";
import { ensureDataDir } from "../platform/instance.ts";

/** The sandbox keeps its own first key, so that the command line can use it. */
export async function keepSandboxKey({ config, first_start }: Core): Promise<void> {
  if (config.mode !== "sandbox" || !first_start.created) return;
  const file = join(await ensureDataDir(config.data_dir), "sandbox-api-key");
  await writeFile(file, `${first_start.created.api_key}\n`, { mode: 0o600 });
}

/** Whatever the first process was and however it ends, what it made up is said: it is nowhere. */
export function tellFirstStart(created: NonNullable<FirstStart["created"]>): string[] {
  return [
    `  API key    ${created.api_key}`,
    `  Sign in    ${created.admin_email}  ${created.admin_password}`,
    "",
    "Keep the key and the password: they are shown only now.",
  ];
}
