import { spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { chmod, mkdir, mkdtemp, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { delimiter, dirname, join } from "node:path";
import { COMPILED, type Running, startCommand } from "./command-line.ts";
import { waitFor } from "./wait-for.ts";

const ROOT = join(import.meta.dirname, "../..");
const CURL = join(import.meta.dirname, "curl.ts");
export const STARTED_WITHIN_MS = 60_000;

/** A service as `npm start` runs it, in a directory that looks like a clone, with a shell. */
export type Reader = {
  url: string;
  directory: string;
  environment: Record<string, string>;
  shell: Shell;
  close(): Promise<void>;
};

/** The environment of a reader who follows the documentation. */
export async function openReader(): Promise<Reader> {
  const home = await mkdtemp(join(tmpdir(), "sliproad-reader-"));
  // Started by root, the database runs as another user, who needs access.
  await chmod(home, 0o755);
  const directory = join(home, "sliproad");
  await mkdir(directory);
  for (const name of ["bin", "node_modules", "sdk"]) {
    await symlink(join(ROOT, name), join(directory, name));
  }
  await writeFile(join(directory, "package.json"), '{ "private": true, "type": "module" }');
  const environment = { SLIPROAD_DATA_DIR: join(directory, ".sliproad"), PORT: "0" };
  const service: Running = startCommand(["start"], environment);
  const url = await waitFor(
    () => /Address +(\S+)/.exec(service.printed().stdout)?.[1],
    STARTED_WITHIN_MS,
  );
  const shell = await openShell(directory);
  return {
    url,
    directory,
    environment,
    shell,
    close: async () => {
      shell.close();
      service.child.kill("SIGTERM");
      await service.ended;
      await rm(home, { recursive: true, force: true });
    },
  };
}

/** The code blocks of one language, in a whole text or under a heading with this prefix. */
export function blocksOf(markdown: string, language: string, heading?: string): string[] {
  const sections = markdown.split(/^## /m);
  const section =
    heading === undefined ? markdown : (sections.find((part) => part.startsWith(heading)) ?? "");
  const blocks = section.matchAll(new RegExp(`^\`\`\`${language}\n(.*?)^\`\`\`$`, "gms"));
  return [...blocks].map(([, code]) => code!);
}

export type Shell = {
  run(code: string): Promise<string>;
  /** The exit code of the last command of the last step. */
  status(): number;
  /** Ends the shell and everything it still runs in the background. */
  close(): void;
};

/** One shell for all steps, as a user has; returns what a step prints. */
export async function openShell(cwd: string): Promise<Shell> {
  const env = { ...process.env, ...(await shellEnvironment(cwd)) };
  // A separate process group, so that it can be ended as a whole.
  const child = spawn("sh", { cwd, env, detached: true });
  let printed = "";
  let status = 0;
  for (const stream of [child.stdout, child.stderr]) {
    stream.setEncoding("utf8").on("data", (some: string) => {
      printed += some;
    });
  }
  const run = async (code: string) => {
    const end = `end-${crypto.randomUUID()}`;
    const ended = new RegExp(`${end} (\\d+)\n`);
    printed = "";
    child.stdin.write(`${code}\nprintf "\\n%s %s\\n" ${end} $?\n`);
    while (!ended.test(printed)) await once(child.stdout, "data");
    status = Number(ended.exec(printed)![1]);
    return printed.slice(0, printed.indexOf(end)).trim();
  };
  return { run, status: () => status, close: () => process.kill(-child.pid!) };
}

/** The Node that runs the tests, and an npm that does not use the network. */
async function shellEnvironment(cwd: string): Promise<Record<string, string>> {
  const path = [dirname(process.execPath), await pathWithCurl(cwd)].join(delimiter);
  const npm = { npm_config_offline: "true", npm_config_audit: "false", npm_config_fund: "false" };
  return { PATH: path, NODE_COMPILE_CACHE: COMPILED, ...npm };
}

/** A machine without curl gets our subset of it. */
async function pathWithCurl(at: string): Promise<string> {
  const path = process.env.PATH ?? "";
  if (spawnSync("sh", ["-c", "command -v curl"]).status === 0) return path;
  const directory = join(at, "curl");
  await mkdir(directory, { recursive: true });
  const script = `#!/bin/sh\nexec '${process.execPath}' '${CURL}' "$@"\n`;
  await writeFile(join(directory, "curl"), script, { mode: 0o755 });
  return `${directory}${delimiter}${path}`;
}
