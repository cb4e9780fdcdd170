import { expect, test } from "vitest";
import { DAY_MS } from "../../src/platform/durations.ts";
import { isoTime } from "../../src/platform/iso-time.ts";

const YEAR_10000_MS = 253_402_300_800_000;

test("times are written as toISOString writes them, of all years", () => {
  const ends_ms = [0, YEAR_10000_MS, 8.64e15].flatMap((ms) => [ms, -ms]);
  const near_ms = ends_ms.flatMap((ms) => [ms - DAY_MS, ms - 1, ms, ms + 1, ms + DAY_MS]);
  const random_ms = Array.from({ length: 20_000 }, () => (Math.random() - 0.5) * 5e14);
  for (const ms of [...near_ms, ...random_ms]) {
    const time = new Date(Math.round(ms));
    if (!Number.isNaN(time.getTime())) expect(isoTime(time)).toBe(time.toISOString());
  }
});

test("what is no time is refused", () => {
  const none = new Date(Number.NaN);
  for (let times = 0; times < 2; times += 1) expect(() => isoTime(none)).toThrow(RangeError);
});
