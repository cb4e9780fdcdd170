import { existsSync, readFileSync } from "node:fs";
import { expect, it } from "vitest";

const ROOT = new URL("../../", import.meta.url);

it("the page of what accounts share names tests that exist, one in each row", () => {
  const page = readFileSync(new URL("docs/reference/shared-limits.md", ROOT), "utf8");
  const rows = page.split("\n").filter((line) => /^\| (?!---|what)/.test(line));
  expect(rows.length).toBeGreaterThan(20);
  const tests = rows.map((row) => /`(test\/[\w/.-]+\.test\.ts)`/.exec(row)?.[1] ?? row);
  expect(tests.filter((path) => !existsSync(new URL(path, ROOT)))).toEqual([]);
});
