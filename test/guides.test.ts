import { readdir, readFile } from "node:fs/promises";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { runCommand } from "./harness/command-line.ts";
import { blocksOf, openReader, type Reader, STARTED_WITHIN_MS } from "./harness/documentation.ts";

const GUIDES = new URL("../docs/guides/", import.meta.url);
const guides = (await readdir(GUIDES)).filter((name) => name.endsWith(".md"));

let reader: Reader;
beforeAll(async () => {
  reader = await openReader();
}, STARTED_WITHIN_MS);
afterAll(() => reader?.close());

describe("the guides", () => {
  it.each(guides)("every command of %s works as it stands", async (name) => {
    const text = await readFile(new URL(name, GUIDES), "utf8");
    for (const block of blocksOf(text, "sh")) {
      const printed = await reader.shell.run(block.replaceAll("http://127.0.0.1:4000", reader.url));
      expect(printed, block).not.toMatch(/error_code|not found|Error:/);
    }
  });

  it("what they did is all in order", async () => {
    const verified = await runCommand(["verify"], reader.environment);
    expect(verified.stdout + verified.stderr).toMatch(/^All is well/);
  });
});
