import { existsSync, readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";

const ROOT = new URL("../../", import.meta.url);
const PAGE = read("docs/security.md");

/** ASVS 5.0.0: the level of each requirement of a section, in order. `"312"`: .1 has level 3 … */
const LEVELS: Readonly<Record<string, string>> = {
  "V1.1": "22",
  "V1.2": "1111122223",
  "V1.3": "112222222223",
  "V1.4": "222",
  "V1.5": "123",
  "V2.1": "122",
  "V2.2": "112",
  "V2.3": "12223",
  "V2.4": "23",
  "V3.1": "3",
  "V3.2": "113",
  "V3.3": "12223",
  "V3.4": "11222233",
  "V3.5": "11122333",
  "V3.6": "3",
  "V3.7": "22333",
  "V4.1": "12233",
  "V4.2": "23333",
  "V4.3": "22",
  "V4.4": "1222",
  "V5.1": "2",
  "V5.2": "112333",
  "V5.3": "113",
  "V5.4": "222",
  "V6.1": "122",
  "V6.2": "111111112222",
  "V6.3": "11223333",
  "V6.4": "112233",
  "V6.5": "22222333",
  "V6.6": "2223",
  "V6.7": "33",
  "V6.8": "2222",
  "V7.1": "222",
  "V7.2": "1111",
  "V7.3": "22",
  "V7.4": "11222",
  "V7.5": "223",
  "V7.6": "22",
  "V8.1": "1233",
  "V8.2": "1123",
  "V8.3": "133",
  "V8.4": "23",
  "V9.1": "111",
  "V9.2": "1222",
  "V10.1": "22",
  "V10.2": "223",
  "V10.3": "22223",
  "V10.4": "1111122222233333",
  "V10.5": "22222",
  "V10.6": "22",
  "V10.7": "222",
  "V11.1": "2233",
  "V11.2": "22233",
  "V11.3": "11233",
  "V11.4": "1222",
  "V11.5": "23",
  "V11.6": "23",
  "V11.7": "33",
  "V12.1": "12233",
  "V12.2": "11",
  "V12.3": "22223",
  "V13.1": "2333",
  "V13.2": "222223",
  "V13.3": "2233",
  "V13.4": "1222233",
  "V14.1": "22",
  "V14.2": "12223333",
  "V14.3": "122",
  "V15.1": "12233",
  "V15.2": "12233",
  "V15.3": "1222222",
  "V15.4": "3333",
  "V16.1": "2",
  "V16.2": "22222",
  "V16.3": "2222",
  "V16.4": "222",
  "V16.5": "2223",
  "V17.1": "23",
  "V17.2": "22223333",
  "V17.3": "22",
};
const STATUSES = ["Met", "Partly", "Does not apply"];
const REQUIREMENT = /^(V\d+\.\d+\.\d+) \(L(\d)\)$/;

type Row = { ids: string[]; levels: string[]; how: string; where: string[]; tests: string[] };

function read(path: string): string {
  return readFileSync(new URL(path, ROOT), "utf8");
}

function pathsIn(text: string): string[] {
  return [...text.matchAll(/`([^`]+)`/g)].map(([, path]) => path!);
}

function readRow(line: string): Row {
  const [, first = "", , how = "", where = "", tests = ""] = line
    .split("|")
    .map((one) => one.trim());
  const named = first.split(", ").map((one) => REQUIREMENT.exec(one) ?? [one, one, "?"]);
  const [ids, levels] = [named.map(([, id]) => id!), named.map(([, , level]) => level!)];
  return { ids, levels, how, where: pathsIn(where), tests: pathsIn(tests) };
}

const rows = PAGE.split("\n")
  .filter((line) => line.startsWith("| V"))
  .map(readRow);

function idsWith(status: string): string[] {
  return rows.filter(({ how }) => how.startsWith(`**${status}.** `)).flatMap(({ ids }) => ids);
}

describe("the page of security requirements", () => {
  it("lists every requirement of the levels 1 and 2 once, with its level", () => {
    const wanted = Object.entries(LEVELS).flatMap(([section, levels]) =>
      [...levels].flatMap((level, at) => (level < "3" ? [`${section}.${at + 1} L${level}`] : [])),
    );
    const listed = rows.flatMap(({ ids, levels }) => ids.map((id, at) => `${id} L${levels[at]}`));
    expect(wanted).toHaveLength(253);
    expect(listed).toEqual(wanted);
  });

  it("says of each whether it is met, and counts them", () => {
    const counts = STATUSES.map((status) => idsWith(status).length);
    expect(counts.reduce((sum, count) => sum + count)).toBe(253);
    const [met, partly, none] = counts;
    const summary = `of which ${met} are met, ${partly} are partly met and ${none} do not apply`;
    expect(PAGE.replaceAll("\n", " ")).toContain(summary);
  });

  it("names at the top what is not met, and nothing else", () => {
    const top = PAGE.slice(PAGE.indexOf("## What is not met"), PAGE.indexOf("## Requirements"));
    const named = [...top.matchAll(/V\d+\.\d+\.\d+/g)].map(([id]) => id);
    expect(named.sort()).toEqual(idsWith("Partly").sort());
  });

  it("names files and tests that exist, and a test for nearly all that is met", () => {
    const paths = rows.flatMap(({ where, tests }) => [...where, ...tests]);
    expect(paths.length).toBeGreaterThan(400);
    expect(paths.filter((path) => !existsSync(new URL(path, ROOT)))).toEqual([]);
    const tests = rows.flatMap((row) => row.tests);
    expect(tests.filter((path) => !/^test\/.+\.test\.ts$/.test(path))).toEqual([]);
    const untested = rows.filter(({ how, tests }) => how.startsWith("**Met.**") && !tests[0]);
    expect(untested.flatMap(({ ids }) => ids)).toEqual(["V4.1.2", "V6.2.10", "V14.3.3"]);
  });

  it("has the inventories that its rows refer to, and so has SECURITY.md", () => {
    for (const title of ["Data and its protection", "Keys and algorithms", "Logs", "Connections"]) {
      expect(PAGE).toContain(`\n## ${title}\n`);
    }
    const policy = read("SECURITY.md");
    expect(policy).toContain("(docs/security.md)");
    expect(policy).toContain("\n## Dependencies\n");
  });

  it("names settings that exist", () => {
    const settings = read("docs/reference/settings.md");
    const named = [...PAGE.matchAll(/\b(SLIPROAD_[A-Z_]+|DATABASE_URL)\b/g)].map(([name]) => name);
    expect(named.length).toBeGreaterThan(10);
    expect(named.filter((name) => !settings.includes(`\`${name}\``))).toEqual([]);
  });
});
