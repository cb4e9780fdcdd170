import { access, readFile } from "node:fs/promises";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { runCommand } from "./harness/command-line.ts";
import { blocksOf, openReader, type Reader, STARTED_WITHIN_MS } from "./harness/documentation.ts";
import { listBlocks } from "./harness/guide.ts";
import { waitFor } from "./harness/wait-for.ts";

const HEADING = "A payout in five calls";
const README = new URL("../README.md", import.meta.url);

let reader: Reader;
let text: string;
let steps: string[];

beforeAll(async () => {
  text = await readFile(README, "utf8");
  reader = await openReader();
  steps = blocksOf(text, "sh", HEADING).map((block) =>
    block.replaceAll("http://127.0.0.1:4000", reader.url),
  );
}, STARTED_WITHIN_MS);

afterAll(() => reader?.close());

describe("the README", () => {
  it("leads to money in the bank, and shows what the last call answers", async () => {
    for (const step of steps.slice(0, -1))
      expect(await reader.shell.run(step)).not.toMatch(/error_code/);
    const answer = await showUntil("fiat_sent");
    const [example] = blocksOf(text, "json", HEADING);
    const expected = JSON.parse(example!, (_, value) =>
      value === "…" ? expect.any(String) : value,
    );
    expect(answer).toMatchObject(expected);
  });

  it("needs five calls, as it says: what is numbered is one call each", () => {
    const section = text.split(/^## /m).find((part) => part.startsWith(HEADING))!;
    const numbered = [...section.matchAll(/^(\d)\. .*?^```sh\n(.*?)^```$/gms)];
    expect(numbered.map(([, number]) => number)).toEqual(["1", "2", "3", "4", "5"]);
    for (const [, , code] of numbered) expect(code!.match(/\bcall POST /g)).toHaveLength(1);
    // Apart from them, the sandbox plays the payer's KYC and one looks at the outcome.
    const others = [...section.matchAll(/\bcall (PATCH|GET) (\S+)/g)].map(([, , path]) => path);
    expect(others).toEqual(["/sandbox/users/$PAYER/kycs", "/users/$PAYER/offramps/$OFFRAMP"]);
  });

  it("may be followed again, and shows how to see a payout bounce", async () => {
    const [, metadata] = /add `("metadata":\{[^`]*\})` in call 4/.exec(text)!;
    // The names that must be new are made of the second.
    const second = await reader.shell.run("date +%s");
    await waitFor(async () => (await reader.shell.run("date +%s")) !== second);
    for (const step of steps.slice(0, -1)) {
      const bouncing = step.replace('"reference":', `${metadata},"reference":`);
      expect(await reader.shell.run(bouncing)).not.toMatch(/error_code/);
    }
    expect((await showUntil("bounced")).offramp.metadata).toEqual({ sandbox_outcome: "bounced" });
  });

  it("names a command that finds all of this right", async () => {
    expect(text).toContain("`bin/sliproad verify`");
    const verified = await runCommand(["verify"], reader.environment);
    expect(verified.stdout + verified.stderr).toMatch(/^Verified \d+ accounts?: no problems found/);
  });

  it("has no block that nobody runs: those below, and the two commands, which every run begins with", () => {
    const blocks = listBlocks(text).map(({ language, code }) => ({ language, code }));
    const followed = new Set(["sh", "json"].flatMap((kind) => blocksOf(text, kind, HEADING)));
    const others = blocks.filter(({ code }) => !followed.has(`${code}\n`));
    expect(others).toEqual([{ language: "sh", code: "npm start\nnpm test" }]);
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
    const answer = JSON.parse(await reader.shell.run(steps.at(-1)!));
    return answer.offramp?.status === status && answer;
  });
}
