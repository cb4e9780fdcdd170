import { afterAll, beforeAll, expect, it } from "vitest";
import { systemTime } from "../../../src/platform/clock.ts";
import { distribute } from "../../../src/platform/db/distribute.ts";
import { listForeignKeys } from "../../../src/platform/db/distribution-store.ts";
import { createTestDatabase, type TestDatabase } from "../../harness/database.ts";

let db: TestDatabase;
beforeAll(async () => {
  db = await createTestDatabase();
});
afterAll(() => db.drop());

it("a database without Citus is refused with a sentence, and stays as it is", async () => {
  const before = await listForeignKeys(db.database);
  expect(before.length).toBeGreaterThan(50);
  const options = { shards: 4, joined: [], now: systemTime(), onTable: () => {} };
  await expect(distribute(db.database, options)).rejects.toThrow(
    "This database has no Citus: install the extension on every node",
  );
  expect(await listForeignKeys(db.database)).toEqual(before);
});
