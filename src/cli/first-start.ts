import { writeFile } from "node:fs/promises";
import { join, relative } from "node:path";
import type { FirstStart } from "../access/first-start.ts";
import type { Core } from "../app/open-core.ts";
import type { Config } from "../platform/config/config.ts";
import { ensureDataDir } from "../platform/instance.ts";

/** The sandbox keeps its own first key, so that the command line can use it. */
export async function keepSandboxKey({ config, first_start }: Core): Promise<void> {
  if (config.mode !== "sandbox" || !first_start.created) return;
  await ensureDataDir(config.data_dir);
  await writeFile(sandboxKeyFile(config), `${first_start.created.api_key}\n`, { mode: 0o600 });
}

export function sandboxKeyFile({ data_dir }: Config): string {
  return join(data_dir, "sandbox-api-key");
}

/** Whatever the first process was and however it ends, what it made up is said. */
export function tellFirstStart(
  { config }: Core,
  created: NonNullable<FirstStart["created"]>,
): string[] {
  const keep =
    config.mode === "sandbox"
      ? [
          "Keep the password: it is shown only now.",
          `The sandbox's key is also in ${relativeToHere(sandboxKeyFile(config))}.`,
        ]
      : ["Keep the key and the password: they are shown only now."];
  return [
    `  API key    ${created.api_key}`,
    `  Sign in    ${created.admin_email}  ${created.admin_password}`,
    "",
    ...keep,
  ];
}

export function relativeToHere(file: string): string {
  const from_here = relative(process.cwd(), file);
  return from_here.startsWith("..") ? file : from_here;
}
