import { readFile } from "node:fs/promises";
import { afterAll, beforeAll, it } from "vitest";
import { openReader, type Reader, STARTED_WITHIN_MS } from "./harness/documentation.ts";
import { FOLLOWED_WITHIN_MS, followGuide, GUIDES, OPERATORS_GUIDES } from "./harness/guide.ts";

let reader: Reader;
beforeAll(async () => {
  reader = await openReader();
}, STARTED_WITHIN_MS);
afterAll(() => reader?.close());

it.each(OPERATORS_GUIDES)(
  "every command, file and answer of %s is as it stands",
  async (name) => {
    await followGuide(reader, await readFile(new URL(name, GUIDES), "utf8"));
  },
  FOLLOWED_WITHIN_MS,
);
