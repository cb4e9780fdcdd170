import { afterAll, beforeAll, expect, it } from "vitest";
import { HOUR_MS } from "../../../src/platform/durations.ts";
import { addApprovedUser, addPaymentDetail, addQuote, execute } from "../../harness/ramp.ts";
import { startTestServer, type TestServer } from "../../harness/server.ts";
import { waitFor } from "../../harness/wait-for.ts";

let server: TestServer;
beforeAll(async () => {
  server = await startTestServer({ environment: { SLIPROAD_DOCUMENTS: "never" } });
});
afterAll(() => server.close());

it("notifies the operator of a payout that the bank does not answer, and moves no money", async () => {
  const user_id = await addApprovedUser(server);
  const payment_detail_id = await addPaymentDetail(server, user_id, "eur");
  const quote_id = await addQuote(server, user_id);
  const made = await server.call("POST", `/users/${user_id}/quotes/${quote_id}/offramps`, {
    offramps: [
      {
        payment_detail_id,
        destination_amount: 100,
        destination_currency: "eur",
        metadata: { sandbox_outcome: "stuck" },
      },
    ],
  });
  const path = `/users/${user_id}/offramps/${made.body.offramps[0].id}`;
  await execute(server, user_id, quote_id);
  await waitFor(async () => {
    const { body } = await server.call("GET", path);
    return body.offramp.status === "sending_fiat";
  });

  await server.call("POST", "/sandbox/clock", { advance_ms: 71 * HOUR_MS });
  const before = await server.call("GET", path);
  expect(before.body.offramp.status_message).toBeNull();

  await server.call("POST", "/sandbox/clock", { advance_ms: 3 * HOUR_MS });
  const flagged = await server.call("GET", path);
  expect(flagged.body.offramp).toMatchObject({
    status: "sending_fiat",
    status_message: expect.stringMatching(/bank has not confirmed/),
  });
  const audited = await server.db.database.query(
    "select 1 from audit_entries where action = 'payout.unanswered'",
  );
  expect(audited).toHaveLength(1);
});
