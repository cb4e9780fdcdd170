import { afterAll, beforeAll, expect, it } from "vitest";
import type { Session } from "../../src/platform/db/database.ts";
import { verifyAccountsOfRows, verifyParents } from "../../src/verify/verify-parents.ts";
import { startTestServer, type TestServer } from "../harness/server.ts";
import { addApp, emit, idle } from "../webhooks/webhook-fixture.ts";

const NOBODY = "0190a000-0000-7000-8000-000000000000";
const ID = "0190a000-0000-7000-8000-000000000001";
const PAYOUT_COLUMNS =
  "attempt, payment_detail_id, end_to_end_id, status, created_at, updated_at, offramp_id";

let server: TestServer;
beforeAll(async () => {
  server = await startTestServer();
  const app = await addApp(server, { webhook_url: "http://127.0.0.1:9/hook" });
  await server.call("POST", `/apps/${app.id}/pause`);
  await emit(server, {});
  await idle(server);
});
afterAll(() => server.close());

/** The error found after a change, which is rolled back. */
function faultAfter(change: string): Promise<string | null> {
  return server.db.database.connection(async (session: Session) => {
    await session.query("begin");
    await session.query(change);
    const fault =
      (await verifyParents(session, server.account_id)) ?? (await verifyAccountsOfRows(session));
    await session.query("rollback");
    return fault;
  });
}

it("unchanged rows have their parents", async () => {
  expect(await faultAfter("select 1")).toBeNull();
});

it.each([
  ["ledger_lines", "amount, currency, ledger_account, number, entry_id", `1, 'eur', 'fees', 1`],
  ["payouts", PAYOUT_COLUMNS, `1, '${ID}', 'e2e', 'recorded', now(), now()`],
])("a row of %s without a parent is found", async (table, columns, values) => {
  const insert = `insert into ${table} (account_id, ${columns})
    values ('${server.account_id}', ${values}, '${NOBODY}')`;
  expect(await faultAfter(insert)).toContain(`there is no ${NOBODY} in `);
});

it.each([
  ["event_positions", "delete from events", "events"],
  ["webhook_deliveries", `update webhook_deliveries set app_id = '${NOBODY}'`, "apps"],
])("a row of %s without a parent is found", async (table, change, parent) => {
  expect(await faultAfter(change)).toMatch(
    new RegExp(`^the row \\S+ of ${table} of account \\S+: there is no \\S+ in ${parent}$`),
  );
});

it.each([
  ["ledger_entries", "key, kind, created_at", "'k', 'k', now()"],
  [
    "events",
    "name, record_id, sequence, to_status, facts, created_at",
    `'n', '${ID}', 1, 's', '', now()`,
  ],
  ["tasks", "kind, record_id, due_at, created_at", `'k', '${ID}', now(), now()`],
])("a row of %s without an account is found", async (table, columns, values) => {
  const insert = `insert into ${table} (account_id, id, ${columns})
    values ('${NOBODY}', '${ID}', ${values})`;
  expect(await faultAfter(insert)).toBe(`the row ${ID} of ${table}: there is no account ${NOBODY}`);
});

it("a balance and an answer of a bank without an account are found", async () => {
  const balance = `insert into ledger_balances (account_id, ledger_account, currency, balance)
    values ('${NOBODY}', 'fees', 'eur', 0)`;
  expect(await faultAfter(balance)).toBe(
    `the row fees of ledger_balances: there is no account ${NOBODY}`,
  );
  const answer = `insert into bank_answers
      (account_id, id, bank_reference, end_to_end_id, kind, outcome, created_at)
    values ('${NOBODY}', '${ID}', 'r', 'e', 'booked', 'applied', now())`;
  expect(await faultAfter(answer)).toBe(
    `the row ${ID} of bank_answers: there is no account ${NOBODY}`,
  );
  const kept = `insert into kept_messages
      (account_id, kind, record_id, place, reference, message, kept_at, mac)
    values ('${NOBODY}', 'k', '${ID}', 1, 'r', '{}', now(), '')`;
  expect(await faultAfter(kept)).toBe(`the row r of kept_messages: there is no account ${NOBODY}`);
});
