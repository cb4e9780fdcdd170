import { expect, it } from "vitest";
import { firstIdAt, newId } from "../../src/platform/ids.ts";

const NOON = Date.UTC(2031, 4, 6, 12);

function idsAt(time: number, count: number): string[] {
  return Array.from({ length: count }, () => newId(new Date(time)));
}

it("ids of one millisecond ascend, even when its counter overflows", () => {
  const ids = idsAt(NOON, 5_000);
  expect(ids).toEqual(ids.toSorted());
});

it("ids ascend while the clock steps back slightly", () => {
  const ids = [...idsAt(NOON, 3), ...idsAt(NOON - 900, 3)];
  expect(ids).toEqual(ids.toSorted());
});

it("a clock that was set back by a day is followed, so that time filters find the ids", () => {
  newId(new Date(NOON));
  const day_before = NOON - 86_400_000;
  const [id] = idsAt(day_before, 1);
  expect(id! >= firstIdAt(new Date(day_before))).toBe(true);
  expect(id! < firstIdAt(new Date(day_before + 1_000))).toBe(true);
});
