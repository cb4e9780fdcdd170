import { readdir, readFile } from "node:fs/promises";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { runCommand } from "./harness/command-line.ts";
import { openReader, type Reader, STARTED_WITHIN_MS } from "./harness/documentation.ts";
import {
  FOLLOWED_WITHIN_MS,
  followGuide,
  GUIDES,
  listBlocks,
  OPERATORS_GUIDES,
  splitCommands,
} from "./harness/guide.ts";

const guides = (await readdir(GUIDES)).filter(
  (name) => name.endsWith(".md") && !OPERATORS_GUIDES.includes(name),
);

let reader: Reader;
beforeAll(async () => {
  reader = await openReader();
}, STARTED_WITHIN_MS);
afterAll(() => reader?.close());

describe("the guides", () => {
  it.each(guides)(
    "every command, program and answer of %s is as it stands",
    async (name) => {
      await followGuide(reader, await readFile(new URL(name, GUIDES), "utf8"));
    },
    FOLLOWED_WITHIN_MS,
  );

  it("what they did is all in order", async () => {
    const verified = await runCommand(["verify"], reader.environment);
    expect(verified.stdout + verified.stderr).toMatch(/^Verified \d+ accounts?: no problems found/);
  });
});

describe("a guide that is wrong fails", () => {
  it.each([
    ["a language nobody checks", "```python\nprint()\n```"],
    ["a block without a language", "```\nanything\n```"],
    ["a program without a name", "```js\nlet a;\n```"],
    ["a program that nothing runs", "Save `a.mjs`:\n\n```js\nlet a;\n```"],
    ["an answer to nothing", "```json\n{}\n```"],
    ["an answer that is another", '```sh\necho \'{"a":1}\'\n```\n\n```json\n{"a":2}\n```'],
    ["an output that is another", "```sh\necho one\n```\n\n```text\ntwo\n```"],
    ["a command that fails", "```sh\nfalse\n```"],
    ["a command that fails before another", "```sh\nfalse\ntrue\n```"],
    ["a variable that nothing was found for", "```sh\nID=$(echo none | grep -o id | cut -c1)\n```"],
    ["a refusal", '```sh\necho \'{"error_code":"x"}\'\n```'],
    ["a type error", "`b.ts`:\n\n```ts\nconst b: number = 'b';\n```\n\n```sh\nnode b.ts\n```"],
  ])("%s", async (_, text) => {
    await expect(followGuide(reader, text)).rejects.toThrow();
  });

  it("each command of a block is one, be it over several lines", () => {
    const code = "one 'a\n b'\nfor x in 1 2; do\n  two\ndone\nthree \\\n  four";
    expect(splitCommands(code)).toEqual([
      "one 'a\n b'",
      "for x in 1 2; do\n  two\ndone",
      "three \\\n  four",
    ]);
  });

  it("and blocks within lists count", () => {
    expect(listBlocks("1. One\n\n   ```sh\n   run\n   ```\n")).toEqual([
      { language: "sh", code: "run", name: null },
    ]);
  });
});
