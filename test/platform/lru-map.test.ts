import { expect, test } from "vitest";
import { LruMap } from "../../src/platform/lru-map.ts";

test("the entry that was not read or written for the longest time goes first", () => {
  const map = new LruMap<string, number>(3);
  for (const [at, key] of ["a", "b", "c"].entries()) map.set(key, at);
  for (const key of ["c", "c", "a", "a"]) map.get(key);
  map.set("d", 3);
  const left = ["a", "b", "c", "d"].filter((key) => map.get(key) !== undefined);
  expect(left).toEqual(["a", "c", "d"]);
});
