import { setTimeout as sleep } from "node:timers/promises";
import { expect, it } from "vitest";
import { createSearchTurns } from "../../src/docs/search-turns.ts";

const SEARCH_MS = 20;

function searchFor(ms: number): void {
  const end_ms = performance.now() + ms;
  while (performance.now() < end_ms);
}

it("takes at most a fifth of the thread, and lets everything else happen in between", async () => {
  const takeTurn = createSearchTurns();
  const begun_ms = performance.now();
  let turns = 0;
  let is_over = false;
  const others = (async () => {
    while (!is_over) {
      await sleep(1);
      turns += 1;
    }
  })();
  await Promise.all(Array.from({ length: 6 }, () => takeTurn(() => searchFor(SEARCH_MS))));
  is_over = true;
  await others;
  expect(performance.now() - begun_ms).toBeGreaterThan(SEARCH_MS * (1 + 5 * 5));
  expect(turns).toBeGreaterThan(20);
});

it("has no place for more than fifty, and has one again", async () => {
  const takeTurn = createSearchTurns();
  const found = Array.from({ length: 51 }, (_, at) => takeTurn(() => at));
  expect(found.at(-1)).toBeNull();
  expect(await Promise.all(found.slice(0, 50))).toEqual(Array.from({ length: 50 }, (_, at) => at));
  expect(await takeTurn(() => "again")).toBe("again");
});

it("goes on after a search that failed", async () => {
  const takeTurn = createSearchTurns();
  const failing = takeTurn(() => {
    throw new Error("invented");
  });
  await expect(failing).rejects.toThrow("invented");
  expect(await takeTurn(() => "next")).toBe("next");
});
