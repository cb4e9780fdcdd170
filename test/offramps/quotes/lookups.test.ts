import { afterAll, beforeAll, expect, test } from "vitest";
import { claimUnfunded, listUnfunded } from "../../../src/offramps/claim-store.ts";
import { listQuoteOfframps } from "../../../src/offramps/store.ts";
import { observeStatements } from "../../../src/platform/db/observe.ts";
import { FIRST_ID } from "../../../src/platform/ids.ts";
import { startTestServer, type TestServer } from "../../harness/server.ts";

let server: TestServer;
beforeAll(async () => {
  server = await startTestServer();
});
afterAll(() => server.close());

/** The plan of the last statement, made while its tables have no statistics. */
async function planOf(work: () => Promise<unknown>): Promise<string> {
  let text = "";
  observeStatements((statement) => {
    if (/\bofframps\b/.test(statement.text)) text = statement.text;
  });
  try {
    await work();
  } finally {
    observeStatements(undefined);
  }
  const rows = await server.db.database.query<{ "QUERY PLAN": string }>(
    `explain (generic_plan, costs off) ${text}`,
  );
  return rows.map((row) => row["QUERY PLAN"]).join("\n");
}

/*
 * A connection keeps its plan while a table grows: one with 10 000 offramps of an account compared
 * each with each of a quote, for minutes, under the locks that all payouts need.
 */
test("the offramps of a quote are looked up one by one, however small the table was", async () => {
  const { database } = server.db;
  const quote = { account_id: server.account_id, id: FIRST_ID };
  const plans = [
    await planOf(() => listQuoteOfframps(database, quote.account_id, quote.id, 500)),
    await planOf(() => listUnfunded(database, quote, 500)),
    await planOf(() => database.transaction((tx) => claimUnfunded(tx, quote, null, 500))),
  ];
  for (const plan of plans) {
    expect(plan).not.toMatch(/Join Filter/);
    expect(plan).toMatch(/Index Cond: \(.*\(id = \w+\.id\)\)/);
  }
});
