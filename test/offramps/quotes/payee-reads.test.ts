import { randomUUID } from "node:crypto";
import { afterAll, beforeAll, expect, test } from "vitest";
import { listPaidDetails } from "../../../src/offramps/quotes/payee-store.ts";
import { type ObservedStatement, observeStatements } from "../../../src/platform/db/observe.ts";
import { addApprovedUser, addPaymentDetail } from "../../harness/ramp.ts";
import { startTestServer, type TestServer } from "../../harness/server.ts";

const SAME_NUMBER = 1_000;
const IN_QUOTE = 20;

let server: TestServer;
beforeAll(async () => {
  server = await startTestServer();
});
afterAll(() => server.close());

type Plan = { "Relation Name"?: string; "Actual Loops": number; Plans?: Plan[] };

function loopsOn(table: string, plan: Plan): number {
  const own = plan["Relation Name"] === table ? plan["Actual Loops"] : 0;
  return (plan.Plans ?? []).reduce((sum, child) => sum + loopsOn(table, child), own);
}

test("what was paid before is looked up once for a payee, however many details name it", async () => {
  const { database } = server.core;
  const { account_id } = server;
  const user_id = await addApprovedUser(server);
  const first = await addPaymentDetail(server, user_id, "eur");
  const columns = await database.query<{ names: string }>(
    `select string_agg(quote_ident(column_name), ', ') as names from information_schema.columns
     where table_name = 'payment_details' and table_schema = 'public' and column_name <> 'id'`,
  );
  const names = columns[0]!.names;
  const rows = await database.query<{ id: string }>(
    `insert into payment_details (id, ${names})
     select gen_random_uuid(), ${names} from payment_details, generate_series(1, $2::integer)
     where account_id = $3 and id = $1 returning id`,
    [first, SAME_NUMBER, account_id],
  );
  let sent: ObservedStatement | undefined;
  observeStatements((statement) => {
    sent = statement;
  });
  const detail_ids = rows.slice(0, IN_QUOTE).map(({ id }) => id);
  await listPaidDetails(database, account_id, randomUUID(), detail_ids);
  observeStatements(undefined);
  const [row] = await database.query<{ "QUERY PLAN": [{ Plan: Plan }] }>(
    `explain (analyze, format json) ${sent!.text}`,
    sent!.values,
  );
  const looked_up = loopsOn("offramps", row!["QUERY PLAN"][0].Plan);
  expect(looked_up).toBeGreaterThan(IN_QUOTE);
  expect(looked_up).toBeLessThan(SAME_NUMBER);
});
