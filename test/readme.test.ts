import { type ChildProcessWithoutNullStreams, spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { access, chmod, mkdir, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { delimiter, join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type Running, runCommand, startCommand } from "./harness/command-line.ts";
import { waitFor } from "./harness/wait-for.ts";

const README = new URL("../README.md", import.meta.url);
const CURL = join(import.meta.dirname, "harness", "curl.ts");
const STARTED_WITHIN_MS = 60_000;

let directory: string;
let environment: Record<string, string>;
let service: Running;
let shell: Shell;
let text: string;
let steps: string[];

beforeAll(async () => {
  text = await readFile(README, "utf8");
  directory = await mkdtemp(join(tmpdir(), "sliproad-readme-"));
  // Started by root the database runs as another user, who must get in.
  await chmod(directory, 0o755);
  environment = { SLIPROAD_DATA_DIR: join(directory, ".sliproad"), PORT: "0" };
  service = startCommand(["start"], environment);
  const url = await waitFor(
    () => /Address +(\S+)/.exec(service.printed().stdout)?.[1],
    STARTED_WITHIN_MS,
  );
  steps = blocksOf(text, "sh", "The first payout").map((block) =>
    block.replaceAll("http://127.0.0.1:4000", url),
  );
  shell = await openShell(directory);
}, STARTED_WITHIN_MS);

afterAll(async () => {
  shell?.child.kill();
  service?.child.kill("SIGTERM");
  await service?.ended;
  await rm(directory, { recursive: true, force: true });
});

describe("the README", () => {
  it("leads to money in the bank, and shows what the last call answers", async () => {
    for (const step of steps.slice(0, -1)) expect(await shell.run(step)).not.toMatch(/error_code/);
    const answer = await showUntil("fiat_sent");
    const [example] = blocksOf(text, "json", "The first payout");
    const expected = JSON.parse(example!, (_, value) =>
      value === "…" ? expect.any(String) : value,
    );
    expect(answer).toMatchObject(expected);
  });

  it("may be followed again, and shows how to see a payout bounce", async () => {
    const [, metadata] = /add `("metadata":\{[^`]*\})` in step 4/.exec(text)!;
    // The names that must be new are made of the second.
    const second = await shell.run("date +%s");
    await waitFor(async () => (await shell.run("date +%s")) !== second);
    for (const step of steps.slice(0, -1)) {
      const bouncing = step.replace('"reference":', `${metadata},"reference":`);
      expect(await shell.run(bouncing)).not.toMatch(/error_code/);
    }
    expect((await showUntil("bounced")).offramp.metadata).toEqual({ sandbox_outcome: "bounced" });
  });

  it("names a command that finds all of this right", async () => {
    expect(text).toContain("`bin/sliproad verify`");
    const verified = await runCommand(["verify"], environment);
    expect(verified.stdout + verified.stderr).toMatch(/^All is well/);
  });

  it("links to files that are there", async () => {
    const links = [...text.matchAll(/\]\((?!http)([^)]+)\)/g)].map(([, path]) => path!);
    expect(links.length).toBeGreaterThan(0);
    for (const path of links) await access(new URL(path, README));
  });
});

/** The last step, asked again until the offramp has come so far. */
function showUntil(status: string) {
  return waitFor(async () => {
    const answer = JSON.parse(await shell.run(steps.at(-1)!));
    return answer.offramp?.status === status && answer;
  });
}

/** The code of one language under a heading that begins so. */
function blocksOf(markdown: string, language: string, heading: string): string[] {
  const section = markdown.split(/^## /m).find((part) => part.startsWith(heading)) ?? "";
  const blocks = section.matchAll(new RegExp(`^\`\`\`${language}\n(.*?)^\`\`\`$`, "gms"));
  return [...blocks].map(([, code]) => code!);
}

type Shell = { child: ChildProcessWithoutNullStreams; run(code: string): Promise<string> };

/** One shell for all steps, as a person has; what a step prints is its answer. */
async function openShell(cwd: string): Promise<Shell> {
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
