import { describe, expect, test } from "vitest";
import {
  compact,
  hasControlCharacters,
  hasForbiddenCharacters,
  isBlank,
  isLongerThan,
  isVisible,
  lowerAscii,
  readEmail,
  reasonProblems,
  upperAscii,
} from "../../src/catalogue/text.ts";

describe("text", () => {
  test.each([undefined, null, "", "  ", "\n\t", "\u00a0"])("%j is blank", (value) => {
    expect(isBlank(value)).toBe(true);
  });

  test.each(["a", 0, false, [], {}])("%j is not blank", (value) => {
    expect(isBlank(value)).toBe(false);
  });

  test("NUL and lone surrogates are forbidden, whole emoji are not", () => {
    expect(hasForbiddenCharacters("a\0b")).toBe(true);
    expect(hasForbiddenCharacters("a\ud83d")).toBe(true);
    expect(hasForbiddenCharacters("\ude00a")).toBe(true);
    expect(hasForbiddenCharacters("Zoë 😀\n")).toBe(false);
  });

  test.each(["", " ", "\u200b", "\u200d\u2060", "\ufeff", "\u00ad", "\u0301", "\u3164", "\u2800"])(
    "%j has nothing to see",
    (text) => {
      expect(isVisible(text)).toBe(false);
    },
  );

  test.each(["a", "é", "क्", "\u200fא", "李", "😀", "-"])("%j can be seen", (text) => {
    expect(isVisible(text)).toBe(true);
  });

  test("line breaks are control characters, letters with accents are not", () => {
    expect(["a\nb", "a\tb", "a\u0085b", "a\u2028b"].every(hasControlCharacters)).toBe(true);
    expect(hasControlCharacters("Straße 5, 東京")).toBe(false);
  });

  test("a name cannot reverse what is shown after it; letters of any direction are fine", () => {
    expect(["Maria\u202e", "Maria\u202d"].every(hasControlCharacters)).toBe(true);
    expect(["مريم", "מרים\u200f", "\u2067מרים\u2069"].some(hasControlCharacters)).toBe(false);
  });

  test("an e-mail address has no invisible characters, and one spelling", () => {
    expect(readEmail("Ana@Example.com")).toBe("ana@example.com");
    expect(readEmail("jose\u0301@example.com")).toBe("jos\u00e9@example.com");
    for (const sign of ["\u200b", "\u00ad", "\u2067", "\u{e0041}", "\u2800", "\u3164"]) {
      expect(readEmail(`ana${sign}@example.com`)).toBeNull();
    }
  });

  test("a reason of a decision is one line of visible text", () => {
    expect(reasonProblems("Reported as stolen", [])).toEqual([]);
    for (const reason of ["a\nb", "a\u001b[2J", "a\u009b31m", "a\u202eb"]) {
      expect(reasonProblems(reason, [])).toMatchObject([{ code: "record_invalid" }]);
    }
  });

  test("an emoji counts as one character", () => {
    expect(isLongerThan("😀😀", 2)).toBe(false);
    expect(isLongerThan("😀😀😀", 2)).toBe(true);
    expect(isLongerThan("abc", 3)).toBe(false);
    expect(isLongerThan("abcd", 3)).toBe(true);
    expect(isLongerThan("a".repeat(1_000_000), 3)).toBe(true);
  });

  test("only the letters A to Z change case", () => {
    expect(upperAscii("ßﬁaZ1")).toBe("ßﬁAZ1");
    expect(upperAscii("šű\ud800`{az@[")).toBe("šű\ud800`{AZ@[");
    expect(lowerAscii("ŁA`{az@[Z\udc00")).toBe("Ła`{az@[z\udc00");
    expect(lowerAscii("\u212aİAz1")).toBe("\u212aİaz1");
  });

  test.each([lowerAscii, upperAscii])("a megabyte that changes case at every letter", (convert) => {
    const text = "aB".repeat(500_000);
    const called = fastest(() => text.replace(/[A-Z]/g, (letter) => letter.toLowerCase()));
    expect(fastest(() => convert(text))).toBeLessThan(called / 3);
  });

  test("spaces and hyphens of every kind are removed", () => {
    expect(compact(" 20-00\u00a000\u2011 1 ")).toBe("2000001");
  });
});

/** Processor time in microseconds, the best of some runs. */
function fastest(work: () => unknown): number {
  const times = Array.from({ length: 5 }, () => {
    const before = process.cpuUsage();
    work();
    const { user, system } = process.cpuUsage(before);
    return user + system;
  });
  return Math.min(...times);
}
