import { afterAll, beforeAll, beforeEach, expect, test, vi } from "vitest";
import { ADVANCE_MAX_MS, DIFFERENCE_MAX_MS, openClock } from "../../src/platform/clock.ts";
import { HOUR_MS } from "../../src/platform/durations.ts";
import { createTestDatabase, type TestDatabase } from "../harness/database.ts";
import { insertInstallation } from "../harness/installation.ts";

let db: TestDatabase;

beforeAll(async () => {
  db = await createTestDatabase();
});
afterAll(() => db.drop());
beforeEach(async () => {
  await db.database.query("delete from installation");
});

async function databaseTime(): Promise<number> {
  const [row] = await db.database.query<{ now: Date }>("select clock_timestamp() as now");
  return row!.now.getTime();
}

test("the clock returns the database's time", async () => {
  await insertInstallation(db.database);
  const clock = await openClock(db.database);
  const difference_ms = clock.now().getTime() - (await databaseTime());
  expect(Math.abs(difference_ms)).toBeLessThan(DIFFERENCE_MAX_MS);
});

test("advancing moves the clocks of all processes, once they refresh", async () => {
  await insertInstallation(db.database);
  const [one, other] = [await openClock(db.database), await openClock(db.database)];
  const moved = await one.advance(HOUR_MS);
  expect(moved.getTime() - (await databaseTime())).toBeGreaterThan(HOUR_MS - DIFFERENCE_MAX_MS);
  expect(one.now().getTime()).toBeGreaterThanOrEqual(moved.getTime());
  expect(other.now().getTime()).toBeLessThan(moved.getTime());
  await other.refresh();
  expect(other.now().getTime()).toBeGreaterThanOrEqual(moved.getTime() - 50);
  await other.advance(HOUR_MS);
  await one.refresh();
  expect(one.now().getTime() - (await databaseTime())).toBeGreaterThan(2 * HOUR_MS - 2_000);
  const opened_later = await openClock(db.database);
  expect(opened_later.now().getTime()).toBeGreaterThan(moved.getTime());
});

test("the clock does not go back when the measured difference shrinks", async () => {
  await insertInstallation(db.database);
  let ahead_ms = 600;
  const query = async <Row>(text: string, values?: unknown[]): Promise<Row[]> => {
    const rows = await db.database.query<Row & { database_ms: number }>(text, values as never);
    return rows.map((row) => ({ ...row, database_ms: row.database_ms + ahead_ms }));
  };
  const clock = await openClock({ ...db.database, query });
  const before = clock.now().getTime();
  expect(before - Date.now()).toBeGreaterThan(0);
  ahead_ms = 0;
  await clock.refresh();
  expect(Math.abs(clock.difference_ms())).toBeLessThan(500);
  expect(clock.now().getTime()).toBeGreaterThanOrEqual(before);
  ahead_ms = -4 * DIFFERENCE_MAX_MS;
  await clock.refresh();
  expect(clock.now().getTime()).toBeLessThan(before);
});

test("an answer that was long on its way moves the clock no further than it proves", async () => {
  let now_ms = 1_800_000_000_000;
  const answers = [
    { behind_ms: 0, takes_ms: 2 },
    { behind_ms: 5, takes_ms: 20_000 },
  ];
  const query = async () => {
    const { behind_ms, takes_ms } = answers.shift()!;
    const database_ms = now_ms - behind_ms;
    now_ms += takes_ms;
    return [{ database_ms, clock_offset_ms: 0n }];
  };
  const date = vi.spyOn(Date, "now").mockImplementation(() => now_ms);
  try {
    const clock = await openClock({ ...db.database, query: query as never });
    await clock.refresh();
    expect(clock.difference_ms()).toBe(-5);
  } finally {
    date.mockRestore();
  }
});

test("two processes that advance the clock at once move it by the sum", async () => {
  await insertInstallation(db.database);
  const [one, other] = [await openClock(db.database), await openClock(db.database)];
  await Promise.all([one.advance(HOUR_MS), other.advance(HOUR_MS)]);
  const rows = await db.database.query("select clock_offset_ms from installation");
  expect(rows).toEqual([{ clock_offset_ms: BigInt(2 * HOUR_MS) }]);
});

test("the clock only moves forward, by whole milliseconds, by at most 400 days", async () => {
  await insertInstallation(db.database);
  const clock = await openClock(db.database);
  for (const advance_ms of [-1, 0.5, Number.NaN, Number.POSITIVE_INFINITY, ADVANCE_MAX_MS + 1]) {
    await expect(clock.advance(advance_ms)).rejects.toThrow(RangeError);
  }
  const before = clock.now().getTime();
  await clock.advance(ADVANCE_MAX_MS);
  await clock.advance(0);
  expect(clock.now().getTime() - before).toBeGreaterThanOrEqual(ADVANCE_MAX_MS);
});

test("in live mode the clock cannot be moved", async () => {
  await insertInstallation(db.database, "live");
  const clock = await openClock(db.database);
  await expect(clock.advance(HOUR_MS)).rejects.toThrow("only the sandbox's clock");
  expect(Math.abs(clock.now().getTime() - (await databaseTime()))).toBeLessThan(DIFFERENCE_MAX_MS);
});
