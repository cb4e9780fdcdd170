import { afterAll, beforeAll, expect, it } from "vitest";
import { verifyDeliveries } from "../../src/verify/verify-deliveries.ts";
import { startTestServer, type TestServer } from "../harness/server.ts";
import { addApp, emit, idle } from "../webhooks/webhook-fixture.ts";

const CANCEL = new Error("undone on purpose");

let server: TestServer;
beforeAll(async () => {
  server = await startTestServer();
  const app = await addApp(server, { webhook_url: "http://127.0.0.1:9/hook" });
  await server.call("POST", `/apps/${app.id}/pause`);
  await emit(server, {}, {});
  await idle(server);
});
afterAll(() => server.close());

/** The error found after a change, which is rolled back. */
async function faultAfter(change: string): Promise<string | null> {
  let fault: string | null = null;
  await server.db.database
    .transaction(async (tx) => {
      await tx.query(change);
      fault = await verifyDeliveries(tx, server.account_id);
      throw CANCEL;
    })
    .catch((error) => {
      if (error !== CANCEL) throw error;
    });
  return fault;
}

it("pending deliveries are in the queue", async () => {
  const [row] = await server.db.database.query("select count(*)::int from webhook_queue");
  expect(row).toEqual({ count: 2 });
  expect(await verifyDeliveries(server.db.database, server.account_id)).toBeNull();
});

it.each([
  ["delete from webhook_queue", "it is pending, but not in the queue at its due time"],
  [
    "update webhook_queue set due_at = due_at + interval '1 second'",
    "it is pending, but not in the queue at its due time",
  ],
  [
    `update webhook_deliveries set status = 'skipped', next_attempt_at = null`,
    "it is skipped, but in the queue",
  ],
  ["delete from webhook_deliveries", "it is missing, but in the queue"],
])("%s is found", async (change, sentence) => {
  const fault = await faultAfter(change);
  expect(fault).toMatch(/^webhook delivery \S+ of account \S+: /);
  expect(fault).toMatch(sentence);
});
