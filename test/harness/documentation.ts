import { type ChildProcessWithoutNullStreams, spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { chmod, mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { delimiter, join } from "node:path";
import { type Running, startCommand } from "./command-line.ts";
import { waitFor } from "./wait-for.ts";

const CURL = join(import.meta.dirname, "curl.ts");
export const STARTED_WITHIN_MS = 60_000;

/** A service as `npm start` gives it, in a directory of its own, with a shell beside it. */
export type Reader = {
  url: string;
  environment: Record<string, string>;
  shell: Shell;
  close(): Promise<void>;
};

/** What somebody has who follows the documentation. */
export async function openReader(): Promise<Reader> {
  const directory = await mkdtemp(join(tmpdir(), "sliproad-reader-"));
  // Started by root the database runs as another user, who must get in.
  await chmod(directory, 0o755);
  const environment = { SLIPROAD_DATA_DIR: join(directory, ".sliproad"), PORT: "0" };
  const service: Running = startCommand(["start"], environment);
  const url = await waitFor(
    () => /Address +(\S+)/.exec(service.printed().stdout)?.[1],
    STARTED_WITHIN_MS,
  );
  const shell = await openShell(directory);
  return {
    url,
    environment,
    shell,
    close: async () => {
      shell.child.kill();
      service.child.kill("SIGTERM");
      await service.ended;
      await rm(directory, { recursive: true, force: true });
    },
  };
}

/** The code of one language, in a whole text or under a heading that begins so. */
export function blocksOf(markdown: string, language: string, heading?: string): string[] {
  const sections = markdown.split(/^## /m);
  const section =
    heading === undefined ? markdown : (sections.find((part) => part.startsWith(heading)) ?? "");
  const blocks = section.matchAll(new RegExp(`^\`\`\`${language}\n(.*?)^\`\`\`$`, "gms"));
  return [...blocks].map(([, code]) => code!);
}

export type Shell = { child: ChildProcessWithoutNullStreams; run(code: string): Promise<string> };

/** One shell for all steps, as a person has; what a step prints is its answer. */
export async function openShell(cwd: string): Promise<Shell> {
  const child = spawn("sh", { cwd, env: { ...process.env, PATH: await pathWithCurl(cwd) } });
  let printed = "";
  for (const stream of [child.stdout, child.stderr]) {
    stream.setEncoding("utf8").on("data", (some: string) => {
      printed += some;
    });
  }
  const run = async (code: string) => {
    const end = `end-${crypto.randomUUID()}`;
    printed = "";
    child.stdin.write(`${code}\necho\necho ${end}\n`);
    while (!printed.includes(end)) await once(child.stdout, "data");
    return printed.slice(0, printed.indexOf(end)).trim();
  };
  return { child, run };
}

/** A machine without curl gets as much of it as is needed. */
async function pathWithCurl(at: string): Promise<string> {
  const path = process.env.PATH ?? "";
  if (spawnSync("sh", ["-c", "command -v curl"]).status === 0) return path;
  const directory = join(at, "bin");
  await mkdir(directory);
  const script = `#!/bin/sh\nexec '${process.execPath}' '${CURL}' "$@"\n`;
  await writeFile(join(directory, "curl"), script, { mode: 0o755 });
  return `${directory}${delimiter}${path}`;
}
