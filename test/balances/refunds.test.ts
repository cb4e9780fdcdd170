import { afterAll, beforeAll, expect, it } from "vitest";
import { createSandboxBank } from "../../src/partners/bank/sandbox.ts";
import { SendPending } from "../../src/partners/chain/port.ts";
import { createSandboxChain } from "../../src/partners/chain/sandbox.ts";
import { HOUR_MS } from "../../src/platform/durations.ts";
import { startTestServer, type TestServer } from "../harness/server.ts";
import { advance, deposit, findFault, good, openStory, settle } from "../offramps/story.ts";

const ADDRESS = "0x5aaeb6053f3e94c9b9a09f33669435e7ef1beaed";

let server: TestServer;
let answer: "refused" | "pending" | null = null;
let calls = 0;
beforeAll(async () => {
  server = await startTestServer({
    partners: (core) => {
      const chain = createSandboxChain(core);
      const send: typeof chain.send = async (request) => {
        calls += 1;
        if (answer === "pending") throw new SendPending("it waits for its turn");
        return answer ? { refused: "the address is blocked" } : chain.send(request);
      };
      return { chain: { ...chain, send }, bank: createSandboxBank(core) };
    },
  });
});
afterAll(() => server.close());

const refund = { token: "usdc", chain: "polygon", amount: 60, address: ADDRESS };

/** A user to whom 100 usdc are owed. */
async function openOwed() {
  const story = await openStory(server);
  await deposit(server, { quote_id: story.quote_id, amount: 100 });
  const path = `/users/${story.user_id}`;
  const refund_address = { chain: "polygon", address: ADDRESS };
  good(await server.call("POST", `${path}/refund_addresses`, { refund_address }));
  return { story, path };
}

it("a refund that waits for its turn on the chain is not sent while the user is frozen", async () => {
  const { path } = await openOwed();
  answer = "pending";
  good(await server.call("POST", `${path}/refunds`, { refund }));
  const show = async () => good(await server.call("GET", `${path}/refunds`)).refunds[0];
  await settle(server);
  const { status, updated_at } = await show();
  expect(status).toBe("sending");
  await advance(server, 6_000);
  // Asking again changes nothing that a caller sees.
  expect(await show()).toMatchObject({ status: "sending", updated_at, tx_id: null });
  good(await server.call("POST", `${path}/freeze`, { reason: "Reported as stolen" }));
  await advance(server, 6_000);
  answer = null;
  const asked = calls;
  await advance(server, 3 * HOUR_MS);
  expect([calls, (await show()).status]).toEqual([asked, "sending"]);
  good(await server.call("POST", `${path}/unfreeze`, { reason: "Found again" }));
  await advance(server, HOUR_MS);
  expect((await show()).status).toBe("sent");
  expect(await findFault(server)).toBeNull();
});

it("a refund that the chain refuses for good fails, and is owed to the user again", async () => {
  const { story, path } = await openOwed();
  answer = "refused";
  const asked = { refund, reason: "Paid too much" };
  const { id } = good(await server.call("POST", `${path}/refunds`, asked)).refund;
  expect(await story.owed()).toBe(40);
  await settle(server);
  answer = null;
  const { refunds } = good(await server.call("GET", `${path}/refunds?status=failed`));
  expect(refunds).toMatchObject([{ id, status: "failed", tx_id: null, amount: 60 }]);
  expect(await story.owed()).toBe(100);
  expect(await findFault(server)).toBeNull();
  const audited = await server.db.database.query(
    "select action, reason from audit_entries where record = $1 order by at, id",
    [`refund:${id}`],
  );
  expect(audited).toEqual([
    { action: "refund.create", reason: "Paid too much" },
    { action: "refund.fail", reason: "the address is blocked" },
  ]);
  await story.takeOut(100);
  expect(await story.owed()).toBe(0);
  expect(await findFault(server)).toBeNull();
});
