import { afterAll, beforeAll, expect, it } from "vitest";
import { readOn } from "../../src/partners/read-on.ts";
import { createTestDatabase, type TestDatabase } from "../harness/database.ts";

let db: TestDatabase;
beforeAll(async () => {
  db = await createTestDatabase();
});
afterAll(() => db.drop());

const PAGES = new Map<string | null, { items: string[]; cursor: string | null }>([
  [null, { items: ["first"], cursor: "1" }],
  ["1", { items: ["second"], cursor: "2" }],
  ["2", { items: [], cursor: "2" }],
]);

it("records each page with the time at which it is read, however long a run takes", async () => {
  let time_ms = Date.UTC(2026, 0, 1);
  const clock = { now: () => new Date(time_ms) };
  const taken: [string, number][] = [];
  const take = async (items: string[], now: Date) => {
    for (const item of items) taken.push([item, now.getTime()]);
    time_ms += 60_000;
  };
  await readOn(db.database, "a partner", async (cursor) => PAGES.get(cursor)!, take, clock);
  expect(taken).toEqual([
    ["first", Date.UTC(2026, 0, 1, 0, 0)],
    ["second", Date.UTC(2026, 0, 1, 0, 1)],
  ]);
});
