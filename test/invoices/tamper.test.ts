import { afterAll, beforeAll, expect, it } from "vitest";
import { startTestServer, type TestServer } from "../harness/server.ts";
import { findFault, good } from "../offramps/story.ts";
import { change, create } from "./invoice-fixture.ts";

let server: TestServer;
let id: string;
beforeAll(async () => {
  server = await startTestServer();
  id = good(await create(server, { convert: true })).id;
  good(await change(server, id, "declareReceivedPayment"));
  good(await change(server, id, "markUnpaid"));
  expect(await findFault(server)).toBeNull();
});
afterAll(() => server.close());

it.each([
  ["a total", "update invoices set total = total - 1", "update invoices set total = total + 1"],
  ["a state", "update invoices set status = 'paid'", "update invoices set status = 'open'"],
  [
    "a change that is not legal",
    "update invoice_changes set from_status = 'rejected' where sequence = 3",
    "update invoice_changes set from_status = 'paid' where sequence = 3",
  ],
  [
    "a change without an event",
    "update invoice_changes set id = gen_random_uuid() where sequence = 2",
    null,
  ],
])("verify reports an invoice with %s, changed in the database", async (_what, wrong, right) => {
  await server.db.database.query(wrong);
  expect(await findFault(server)).toContain(`invoice ${id} of account ${server.account_id}`);
  if (right) {
    await server.db.database.query(right);
    expect(await findFault(server)).toBeNull();
  }
});
