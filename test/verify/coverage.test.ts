import { afterAll, beforeAll, expect, it } from "vitest";
import { decidedChanges, isWholeListed, NOT_NOTICED } from "../../src/verify/tampering/coverage.ts";
import { DELETED, PLANTED } from "../../src/verify/tampering/model.ts";
import { NOTICED } from "../../src/verify/tampering/noticed.ts";
import { createTestDatabase, type TestDatabase } from "../harness/database.ts";
import { listTables, type Table } from "./tampering/tamper-matrix.ts";

/*
 * Quick, and without changing a row: whoever adds a table or a column decides whether somebody with
 * SQL may change it unnoticed. every-column.test.ts tries whether the lists are true.
 */

let db: TestDatabase;
let tables: Table[];
beforeAll(async () => {
  db = await createTestDatabase();
  tables = await listTables(db.database);
});
afterAll(() => db.drop());

it("every column of every table has a MAC, is noticed, or is listed with a reason", () => {
  const undecided = tables
    .filter(({ name }) => !isWholeListed(name))
    .flatMap(({ name, columns }) => {
      const decided = new Set(decidedChanges(name));
      const changes = columns.filter((column) => !column.is_generated).map((one) => one.name);
      return [...changes, DELETED, PLANTED]
        .filter((change) => !decided.has(change))
        .map((change) => `${name}: ${change}`);
    });
  expect(undecided, "see src/verify/tampering/model.ts").toEqual([]);
});

it("the lists name only columns that exist", () => {
  const known = new Set(
    tables.flatMap(({ name, columns }) =>
      [...columns.map((column) => column.name), DELETED, PLANTED].map((one) => `${name}: ${one}`),
    ),
  );
  const named = [
    ...Object.entries(NOTICED).flatMap(([table, changes]) =>
      changes.map((change) => `${table}: ${change}`),
    ),
    ...Object.entries(NOT_NOTICED).flatMap(([table, entries]) =>
      entries.flatMap(({ changes }) =>
        isWholeListed(table) ? [`${table}: ${DELETED}`] : changes.map((one) => `${table}: ${one}`),
      ),
    ),
  ];
  expect(named.filter((name) => !known.has(name))).toEqual([]);
});

it("every reason is a sentence", () => {
  const reasons = Object.values(NOT_NOTICED).flatMap((entries) => entries.map((one) => one.reason));
  expect(reasons.filter((reason) => !/^[A-Z].{20,}\.$/s.test(reason))).toEqual([]);
});
