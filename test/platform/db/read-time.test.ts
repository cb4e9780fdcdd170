import pg from "pg";
import { afterAll, beforeAll, expect, it } from "vitest";
import { readTime, TIMESTAMPTZ_OID } from "../../../src/platform/db/read-time.ts";
import { createTestDatabase, type TestDatabase } from "../../harness/database.ts";

const parse: (text: string) => unknown = pg.types.getTypeParser(TIMESTAMPTZ_OID);

it.each([
  "2026-11-19 10:31:12+00",
  "2026-11-19 10:31:12.1+00",
  "2026-11-19 10:31:12.05+00",
  "2026-11-19 10:31:12.123+00",
  "2026-11-19 10:31:12.123456+00",
  "2024-02-29 23:59:59.999999+00",
  "1969-12-31 23:59:59.5+00",
  "0099-01-01 00:00:00+00",
  "2026-11-19 10:31:12.5+05:30",
  "2026-11-19 10:31:12-03",
  "12026-11-19 10:31:12+00",
  "0044-03-15 12:00:00+00 BC",
  "infinity",
  "-infinity",
])("reads %s as the driver does", (text) => {
  expect(readTime(text)).toEqual(parse(text));
});

it("reads random times of 9,000 years as the driver does", () => {
  for (let count = 0; count < 5_000; count += 1) {
    const time = new Date(Date.UTC(1_000) + Math.floor(Math.random() * 284_000_000_000_000));
    const micros = String(Math.floor(Math.random() * 1_000)).padStart(3, "0");
    const iso = time.toISOString();
    const text = `${iso.slice(0, 10)} ${iso.slice(11, 23)}${micros}+00`;
    expect(readTime(text)).toEqual(parse(text));
  }
});

let db: TestDatabase;
beforeAll(async () => {
  db = await createTestDatabase();
});
afterAll(() => db.drop());

it("is how times of rows are read", async () => {
  const time = new Date("2026-11-19T10:31:12.070Z");
  const [row] = await db.database.query("select $1::timestamptz as time, null as nothing", [time]);
  expect(row).toEqual({ time, nothing: null });
});
