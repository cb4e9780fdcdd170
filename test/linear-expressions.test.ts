import { readFileSync } from "node:fs";
import { glob } from "node:fs/promises";
import { expect, test } from "vitest";
import { searchedWords, wordsOf } from "../src/invoices/links.ts";
import { findDepositCodes } from "../src/onramps/deposits/deposit-code.ts";
import { readBoundary } from "../src/platform/http/uploads/multipart.ts";
import { readRetryAfter } from "../src/webhooks/delivery/retry-schedule.ts";

/**
 * An expression whose time grows with the square of a text lets whoever sends the text stop the
 * event loop. Every expression of the code is run against texts made of its own characters, and
 * again against texts of twice the length.
 */
const LITERAL =
  /(?<=[(=,:[!&|?\s]\s*)\/(?![*/])(?:\\.|\[(?:\\.|[^\]\\\n])*\]|[^/\\\n[])+\/[dgimsuvy]*(?=[\s.,;)\]:])/g;
const LENGTH = 8_000;
/** Enough for most squares, in a sixteenth of the time. */
const SHORT_LENGTH = 2_000;
/** Twice the text may take twice the time, and somewhat more by chance; four times is a square. */
const GROWTH_MAX = 3;
const NOTICED_MS = 4;
/** Read only from what belongs to the operator or to this repository. */
const OWN_TEXT: Record<string, string> = {
  "src/platform/config/config.ts": "settings of the operator",
};

type Expression = { place: string; source: string; flags: string };

async function listExpressions(): Promise<Expression[]> {
  const found: Expression[] = [];
  for (const folder of ["src", "sdk/src", "dashboard/src"]) {
    for await (const path of glob(`${folder}/**/*.{ts,tsx}`)) {
      if (path in OWN_TEXT) continue;
      const code = readFileSync(path, "utf8").replace(/^\s*(\/\/|\*|\/\*\*).*$/gm, "");
      for (const [literal] of code.matchAll(LITERAL)) {
        const end = literal.lastIndexOf("/");
        const [source, flags] = [literal.slice(1, end), literal.slice(end + 1)];
        try {
          new RegExp(source, flags);
        } catch {
          // Two divisions on a line, and the like.
          continue;
        }
        found.push({ place: `${path}: ${literal}`, source, flags });
      }
    }
  }
  return found;
}

/** Letters, digits and signs that the expression itself names, and one of each class. */
function charactersOf(source: string): string[] {
  const plain = source.replace(/\\[pPuxdDsSwWbB](\{[^}]*\}|[0-9a-f]{2,4})?/g, "");
  const named = [...plain.replaceAll("\\", "")].slice(0, 60);
  return [...new Set([" ", "a", "0", "-", ".", ...named])];
}

/** Runs of one or two characters, after the expression's own words, before an end that fits not. */
function textsFor({ source }: Expression, length: number): string[] {
  const characters = charactersOf(source);
  const units = characters.flatMap((one) => [one, `${one} `, `a${one}`, `${one}0`]);
  const words = source.match(/[A-Za-z%]{3,}/g) ?? [];
  const starts = ["", "0", "a", ...words.slice(0, 3), "0 0"];
  return [...new Set(units)].flatMap((unit) => {
    const run = unit.repeat(Math.ceil(length / unit.length));
    return starts.map((start) => `${start}${run}\u0000`);
  });
}

/** Of this thread alone: the machine may be busy with other things. */
function cpuMs(): number {
  const { user, system } = process.threadCpuUsage();
  return (user + system) / 1000;
}

function timeOf({ source, flags }: Expression, text: string): number {
  const expression = new RegExp(source, flags);
  const begun_ms = cpuMs();
  // As `replace` and `matchAll` do: from every place on.
  if (flags.includes("g")) text.replace(expression, "");
  else expression.test(text);
  return cpuMs() - begun_ms;
}

const fastest = (expression: Expression, text: string) =>
  Math.min(...Array.from({ length: 3 }, () => timeOf(expression, text)));

function isQuadratic(expression: Expression): boolean {
  const textsOf = (length: number) => textsFor(expression, length);
  return textsOf(2 * LENGTH).some((text, at) => {
    // Most take no time at all, and need no second look.
    if (timeOf(expression, text) < NOTICED_MS) return false;
    return (
      growsTooMuch(expression, textsOf(SHORT_LENGTH)[at]!, textsOf(2 * SHORT_LENGTH)[at]!) ||
      growsTooMuch(expression, textsOf(LENGTH)[at]!, text)
    );
  });
}

/** A pause of the collector can double one measurement; a square shows in every one. */
function growsTooMuch(expression: Expression, text: string, doubled: string): boolean {
  return [1, 2, 3].every(() => {
    const twice = fastest(expression, doubled);
    return twice >= NOTICED_MS && twice > GROWTH_MAX * fastest(expression, text);
  });
}

test("the search itself knows a square when it sees one", () => {
  for (const source of ["^[ \\t]+|[ \\t]+$", "\\s+$", "a.*b.*c"]) {
    expect(isQuadratic({ place: "", source, flags: "g" }), source).toBe(true);
  }
  expect(isQuadratic({ place: "", source: "^\\s+", flags: "g" })).toBe(false);
}, 120_000);

test("no expression on foreign text takes time that grows with its square", async () => {
  const expressions = await listExpressions();
  expect(expressions.length).toBeGreaterThan(100);
  expect(expressions.filter(isQuadratic).map(({ place }) => place)).toEqual([]);
}, 120_000);

/** What reads a whole text of somebody else's in steps of its own. */
const KEY = Buffer.alloc(32);
const READERS: Record<string, (text: string) => unknown> = {
  "the boundary of an upload": (text) => readBoundary(`multipart/form-data; boundary=x; ${text}`),
  "the deposit codes of a bank's text": (text) => findDepositCodes(text),
  "the words that are searched for": (text) => searchedWords(KEY, "account", text),
  "the words of an invoice": (text) =>
    wordsOf(KEY, "account", {
      id: "invoice",
      document: { invoiceNumber: text, buyerInfo: {}, sellerInfo: {}, invoiceItems: [] },
      tracked: [],
    } as unknown as Parameters<typeof wordsOf>[2]),
  "Retry-After": (text) => readRetryAfter(503, text, new Date()),
};
const UNITS = ["a", "a-", "a ", "0,", ";a=b", "; ", '";"', "A1B2C3 ", "é", "ﷺ", " \t"];

test.each(Object.entries(READERS))("%s: twice the text takes twice the time", (_name, read) => {
  const timeFor = (unit: string, length: number) => {
    const text = unit.repeat(Math.ceil(length / unit.length));
    const times = Array.from({ length: 5 }, () => {
      const begun_ms = cpuMs();
      read(text);
      return cpuMs() - begun_ms;
    });
    return Math.min(...times);
  };
  // A pause of the collector can double one measurement; a square shows in every one.
  const isSquare = (unit: string) =>
    [1, 2, 3].every(() => {
      const twice = timeFor(unit, 80_000);
      return twice >= 10 && twice > GROWTH_MAX * timeFor(unit, 40_000);
    });
  expect(UNITS.filter(isSquare)).toEqual([]);
});
