import { afterAll, beforeAll, expect, test } from "vitest";
import { claimUnfunded, listUnfunded } from "../../../src/offramps/claim-store.ts";
import { listPaidDetails } from "../../../src/offramps/quotes/payee-store.ts";
import { listQuoteOfframps } from "../../../src/offramps/store.ts";
import type { Transaction } from "../../../src/platform/db/database.ts";
import { observeStatements } from "../../../src/platform/db/observe.ts";
import { FIRST_ID } from "../../../src/platform/ids.ts";
import { listExposures } from "../../../src/prices/exposure-store.ts";
import { addApprovedUser, addPaymentDetail } from "../../harness/ramp.ts";
import { startTestServer, type TestServer } from "../../harness/server.ts";
import { openStory } from "../story.ts";

let server: TestServer;
beforeAll(async () => {
  server = await startTestServer();
});
afterAll(() => server.close());

/** The plan of the last statement, made while its tables have no statistics. */
async function planOf(work: () => Promise<unknown>, table = "offramps"): Promise<string> {
  let text = "";
  observeStatements((statement) => {
    if (new RegExp(`\\b${table}\\b`).test(statement.text)) text = statement.text;
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

/*
 * With every block that was sealed since the last check, a minute before, the lines of all payouts
 * that the account ever had were compared.
 */
test("the lines of newly sealed entries are looked up one by one", async () => {
  const plan = await planOf(
    () => listExposures(server.db.database),
    "amount from exposure_checkpoints",
  );
  expect(plan).not.toMatch(/Join Filter|Hash Cond/);
  expect(plan.match(/Index Cond: \(.*\(entry_id = \w+\.\w+\)\)/g)).toHaveLength(2);
});

/*
 * For each of 500 payment details all with its number were looked at: an account that registers
 * one number 8,000 times kept the database busy for half a minute with each quote to be approved.
 */
test("a number that many payment details have is searched once", async () => {
  const { database } = server.db;
  const { account_id } = server;
  const detail_id = await addPaymentDetail(server, await addApprovedUser(server), "eur");
  await database.query(
    `insert into payment_details
     select (jsonb_populate_record(d, jsonb_build_object('id', gen_random_uuid()))).*
     from payment_details d, generate_series(1, 299) where d.account_id = $1 and d.id = $2`,
    [account_id, detail_id],
  );
  const details = await database.query<{ id: string }>(
    "select id from payment_details where account_id = $1",
    [account_id],
  );
  const ids = details.map(({ id }) => id);
  expect(ids).toHaveLength(300);
  const countRead = () =>
    database.transaction(async (tx) => {
      const before = await readSoFar(tx);
      await listPaidDetails(tx, account_id, FIRST_ID, ids);
      return (await readSoFar(tx)) - before;
    });
  expect(await countRead()).toBeLessThanOrEqual(4 * ids.length);
  await database.query("analyze payment_details");
  await database.query(
    "update payment_details set payee_index = uuid_send(gen_random_uuid()) where account_id = $1",
    [account_id],
  );
  expect(await countRead()).toBeLessThanOrEqual(4 * ids.length);
});

/*
 * Payouts that fail cost nothing: with thousands to one account each quote that pays it read them
 * all.
 */
test("of the payouts to an account only the newest are looked at", async () => {
  const { database } = server.db;
  const { account_id } = server;
  const { payment_detail_id, offramp_id } = await openStory(server);
  await database.query(
    `insert into offramps
     select (jsonb_populate_record(o, jsonb_build_object(
       'id', gen_random_uuid(), 'status', 'failed', 'document_id', null))).*
     from offramps o, generate_series(1, 1000) where o.account_id = $1 and o.id = $2`,
    [account_id, offramp_id],
  );
  const read = await database.transaction(async (tx) => {
    const before = await readSoFar(tx, "offramps");
    expect(await listPaidDetails(tx, account_id, FIRST_ID, [payment_detail_id])).toEqual([]);
    return (await readSoFar(tx, "offramps")) - before;
  });
  expect(read).toBeLessThanOrEqual(410);
});

async function readSoFar(tx: Transaction, table = "payment_details"): Promise<number> {
  const [row] = await tx.query<{ read: number }>(
    `select (seq_tup_read + idx_tup_fetch)::integer as read from pg_stat_xact_user_tables
     where relname = $1`,
    [table],
  );
  return row!.read;
}
