import { afterAll, beforeAll, expect, it } from "vitest";
import { addQuote } from "../harness/ramp.ts";
import { startTestServer, type TestServer } from "../harness/server.ts";
import { deposit, expectRefusal, findFault, good, openStory } from "../offramps/story.ts";

const WALLET = "0x5aaeb6053f3e94c9b9a09f33669435e7ef1beaed";

let server: TestServer;
beforeAll(async () => {
  server = await startTestServer();
});
afterAll(() => server.close());

it("what came in on one chain is neither refunded nor spent on another", async () => {
  const story = await openStory(server, [{ amount: 50 }]);
  const path = `/users/${story.user_id}`;
  const on_tron = await addQuote(server, story.user_id, { deposit_token_chain: "tron" });
  await deposit(server, { quote_id: on_tron, amount: 500 });
  expect(good(await server.call("GET", `${path}/balances`)).balances).toEqual([
    { currency: "usdc", chain: "tron", amount: 500 },
  ]);
  const refund_address = { chain: "ethereum", address: WALLET };
  good(await server.call("POST", `${path}/refund_addresses`, { refund_address }));
  const refund = { token: "usdc", chain: "ethereum", amount: 10, address: WALLET };
  const refused = await server.call("POST", `${path}/refunds`, { refund });
  expectRefusal(refused, "record_invalid");
  expect(refused.body.errors).toMatchObject([
    { field: "refund.amount", message: "The user's balance on ethereum is 0 usdc." },
  ]);
  // The story's quote is on polygon.
  expectRefusal(await story.fund(story.quote_id), "record_invalid");
  const { balances } = good(await server.call("GET", "/balances"));
  expect(balances).toEqual([{ currency: "usdc", chain: "tron", amount: 500 }]);
  expect(await findFault(server)).toBeNull();
});
