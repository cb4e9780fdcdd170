import { readFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { expect, it } from "vitest";
import { BUGS, changesOf } from "./planted-bugs.ts";

const root = resolve(import.meta.dirname, "../..");

it("the text that each planted bug replaces stands once in its file", () => {
  const counts = BUGS.flatMap((bug) =>
    changesOf(bug).map(({ file, text }) => {
      const source = readFileSync(join(root, file), "utf8");
      return [bug.name, source.split(text).length - 1];
    }),
  );
  expect(counts.filter(([, count]) => count !== 1)).toEqual([]);
});
