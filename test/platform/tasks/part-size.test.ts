import { expect, it } from "vitest";
import { PartSize } from "../../../src/platform/tasks/part-size.ts";

it("is halved after a long transaction, down to a tenth, and grows again", () => {
  const part = new PartSize(300);
  const sizes = [2_000, 2_000, 2_000, 2_000, 2_000].map((took_ms) => {
    part.note(took_ms);
    return part.size;
  });
  expect(sizes).toEqual([150, 75, 37, 30, 30]);
  for (let short = 0; short < 5; short += 1) part.note(100);
  expect(part.size).toBe(300);
});
