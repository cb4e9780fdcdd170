import { expect, it } from "vitest";
import { gather } from "../../../src/platform/tasks/gather.ts";

it("hands over all results together as soon as the last one is there", async () => {
  const sets: number[][] = [];
  const add = gather<number>(3, 60_000, async (items) => void sets.push(items));
  await Promise.all([1, 2, 3].map(add));
  expect(sets).toEqual([[1, 2, 3]]);
});

it("does not wait for a slow one", async () => {
  const sets: number[][] = [];
  const add = gather<number>(3, 1, async (items) => void sets.push(items));
  await Promise.all([1, 2].map(add));
  await add(3);
  expect(sets).toEqual([[1, 2], [3]]);
});

it("reports a failure to those that were handed over together, and to no others", async () => {
  const handle = async (items: number[]) => {
    if (items.includes(1)) throw new Error("refused");
  };
  const add = gather<number>(3, 1, handle);
  const ends = await Promise.allSettled([1, 2].map(add));
  expect(ends.map(({ status }) => status)).toEqual(["rejected", "rejected"]);
  await expect(add(3)).resolves.toBeUndefined();
});
