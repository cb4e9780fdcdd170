import { expect, it } from "vitest";
import { SET_BYTES_MAX, splitByBytes } from "../../../src/platform/tasks/split-by-bytes.ts";

it("parts keep the order, stay below the limit, and a larger item is alone", () => {
  const half = SET_BYTES_MAX / 2;
  const sizes = [half, half, 1, SET_BYTES_MAX * 3, 5, SET_BYTES_MAX];
  expect(splitByBytes(sizes, (size) => size)).toEqual([
    [half, half],
    [1],
    [SET_BYTES_MAX * 3],
    [5],
    [SET_BYTES_MAX],
  ]);
  expect(splitByBytes([], () => 1)).toEqual([]);
});
