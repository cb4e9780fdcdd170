import { afterAll, beforeAll, expect, it } from "vitest";
import { createSandboxBank } from "../../src/partners/bank/sandbox.ts";
import { createSandboxChain } from "../../src/partners/chain/sandbox.ts";
import { startTestServer, type TestServer } from "../harness/server.ts";
import { deposit, findFault, good, openStory, settle } from "../offramps/story.ts";

const ADDRESS = "0x5aaeb6053f3e94c9b9a09f33669435e7ef1beaed";

let server: TestServer;
let is_refused = false;
beforeAll(async () => {
  server = await startTestServer({
    partners: (core) => {
      const chain = createSandboxChain(core);
      const send: typeof chain.send = async (request) =>
        is_refused ? { refused: "the address is blocked" } : chain.send(request);
      return { chain: { ...chain, send }, bank: createSandboxBank(core) };
    },
  });
});
afterAll(() => server.close());

it("a refund that the chain refuses for good fails, and is owed to the user again", async () => {
  const story = await openStory(server);
  await deposit(server, { quote_id: story.quote_id, amount: 100 });
  const path = `/users/${story.user_id}`;
  const refund_address = { chain: "polygon", address: ADDRESS };
  good(await server.call("POST", `${path}/refund_addresses`, { refund_address }));
  const refund = { token: "usdc", chain: "polygon", amount: 60, address: ADDRESS };
  is_refused = true;
  const { id } = good(await server.call("POST", `${path}/refunds`, { refund })).refund;
  expect(await story.owed()).toBe(40);
  await settle(server);
  is_refused = false;
  const { refunds } = good(await server.call("GET", `${path}/refunds?status=failed`));
  expect(refunds).toMatchObject([{ id, status: "failed", tx_id: null, amount: 60 }]);
  expect(await story.owed()).toBe(100);
  expect(await findFault(server)).toBeNull();
  const [audited] = await server.db.database.query(
    "select action, reason from audit_entries where record = $1",
    [`refund:${id}`],
  );
  expect(audited).toEqual({ action: "refund.fail", reason: "the address is blocked" });
  await story.takeOut(100);
  expect(await story.owed()).toBe(0);
  expect(await findFault(server)).toBeNull();
});
