import { afterAll, beforeAll, expect, it } from "vitest";
import { INVOICE_PAYMENT_TASK } from "../../../src/invoices/task-kinds.ts";
import { enqueueTasks } from "../../../src/platform/tasks/tasks.ts";
import { addApprovedUser, addPaymentDetail, addQuote } from "../../harness/ramp.ts";
import { startTestServer, type TestServer } from "../../harness/server.ts";
import { findFault, good, settle } from "../../offramps/story.ts";
import { BANK_OPTION, create, eventsOf, namesOf, show } from "../invoice-fixture.ts";

/** Its worker is stopped, so that tasks wait until another process takes them. */
let server: TestServer;
let invoice_id: string;
let offramp_id: string;
let path: string;
beforeAll(async () => {
  server = await startTestServer({ environment: { SLIPROAD_DOCUMENTS: "never" } });
  const user_id = await addApprovedUser(server);
  const payment_detail_id = await addPaymentDetail(server, user_id, "eur");
  const quote_id = await addQuote(server, user_id);
  await server.app.worker.stop();
  const sellerInfo = { email: "eva@example.com" };
  const salary = { meta: { format: "svc_salary" }, sellerInfo, paymentOptions: [BANK_OPTION] };
  invoice_id = good(await create(server, { ...salary, convert: true })).id;
  const item = { payment_detail_id, destination_amount: 1000, destination_currency: "eur" };
  const { offramps } = good(
    await server.call("POST", `/users/${user_id}/quotes/${quote_id}/offramps`, {
      offramps: [{ ...item, invoice_id }],
    }),
  );
  offramp_id = offramps[0].id;
  path = `/sandbox/offramps/${offramp_id}`;
});
afterAll(async () => {
  expect(await findFault(server)).toBeNull();
  await server.close();
});

const NAMES = [
  ...["create", "declareSentPayment", "declareReceivedPayment", "paid", "c2fPaymentFailed"],
  ...["declareSentPayment", "declareReceivedPayment", "paid"],
];

it("steps of an offramp are applied in order, although only the task of the last one is left", async () => {
  for (const status of ["fiat_sent", "bounced", "fiat_sent"]) {
    good(await server.call("PATCH", path, { offramp: { status } }));
  }
  expect(await namesOf(server, server.account_id, invoice_id)).toEqual(["create"]);
  const { database } = server.db;
  await database.query(
    `delete from tasks where kind = $1 and id <>
       (select id from tasks where kind = $1 order by id desc limit 1)`,
    [INVOICE_PAYMENT_TASK],
  );
  const beside = await startTestServer({
    beside: server,
    environment: { SLIPROAD_DOCUMENTS: "never" },
  });
  try {
    await settle(beside);
    const events = await eventsOf(server, server.account_id, invoice_id);
    expect(events.map((event) => event.name)).toEqual(NAMES);
    expect(events.map((event) => event.sequence)).toEqual(NAMES.map((_, at) => at + 1));
    expect((await show(server, invoice_id)).status).toBe("paid");

    // As after a crash between the two transactions of each step: none is applied again.
    const key = { account_id: server.account_id, id: offramp_id };
    const now = server.core.clock.now();
    await database.query("update invoice_payment_steps set applied_at = null");
    await database.transaction(async (tx) =>
      enqueueTasks(tx, INVOICE_PAYMENT_TASK, [key, key], now),
    );
    await settle(beside);
    expect(await namesOf(server, server.account_id, invoice_id)).toEqual(NAMES);
    const left = await database.query(
      "select 1 from invoice_payment_steps where applied_at is null",
    );
    expect(left).toEqual([]);
  } finally {
    await beside.close();
  }
});
