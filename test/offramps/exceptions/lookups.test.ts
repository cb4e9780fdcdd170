import { afterAll, beforeAll, expect, test } from "vitest";
import { lockBankExceptions } from "../../../src/offramps/exceptions/store.ts";
import { observeStatements } from "../../../src/platform/db/observe.ts";
import { FIRST_ID } from "../../../src/platform/ids.ts";
import { createTestDatabase, type TestDatabase } from "../../harness/database.ts";

let db: TestDatabase;
beforeAll(async () => {
  db = await createTestDatabase();
});
afterAll(() => db.drop());

test("an exception is locked without reading the answers of all payouts", async () => {
  const statements: string[] = [];
  observeStatements(({ text }) => statements.push(text));
  try {
    await db.database.transaction((tx) => lockBankExceptions(tx, [FIRST_ID]));
  } finally {
    observeStatements(undefined);
  }
  const found = statements.filter((text) => text.includes("bank_answers"));
  expect(found).toHaveLength(2);
  for (const text of found) {
    const plan = await db.database.transaction(async (tx) => {
      await tx.query("set local enable_seqscan = off");
      return tx.query<{ "QUERY PLAN": string }>(`explain (generic_plan, costs off) ${text}`);
    });
    const lines = plan.map((row) => row["QUERY PLAN"]).join("\n");
    expect(lines).toContain("bank_answers_exceptions");
    expect(lines).not.toContain("Seq Scan on bank_answers");
  }
});
