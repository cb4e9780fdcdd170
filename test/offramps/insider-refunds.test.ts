import { afterAll, beforeAll, expect, it } from "vitest";
import { startTestServer, type TestServer } from "../harness/server.ts";
import { deposit, findFault, good, openStory, settle } from "./story.ts";

/*
 * Somebody sets an offramp by SQL to a state in which its money can be asked for, and then asks for
 * it with a valid key.
 */

const REFUND_ADDRESS = "0x5aaeb6053f3e94c9b9a09f33669435e7ef1beaed";

let server: TestServer;
beforeAll(async () => {
  server = await startTestServer({
    environment: { SLIPROAD_DOCUMENTS: "never", SLIPROAD_COOLING_OFF_HOURS: "0" },
  });
});
afterAll(() => server.close());

const sql = (text: string, values: unknown[] = []) => server.db.database.query(text, values);

/** A payout that the bank has, and has not booked. */
async function openSubmitted() {
  const metadata = { sandbox_outcome: "stuck" };
  const story = await openStory(server, [{ amount: 1000, metadata }]);
  await deposit(server, { quote_id: story.quote_id, amount: await story.total() });
  good(await story.execute());
  await settle(server);
  return story;
}

for (const status of ["ongoing_checks", "bounced"]) {
  it(`a payout that the bank has is not given back where SQL says ${status}`, async () => {
    const story = await openSubmitted();
    const before = (await story.show()).status;
    await sql("update offramps set status = $2 where id = $1", [story.offramp_id, status]);
    expect((await story.giveUp()).status).toBe(500);
    expect((await story.reroute()).status).toBe(500);
    expect(await story.owed()).toBe(0);
    await sql("update offramps set status = $2 where id = $1", [story.offramp_id, before]);
    expect(await findFault(server)).toBeNull();
  });
}

it("a refund of what is reserved for an offramp that SQL says has failed is refused", async () => {
  const story = await openStory(server, [{ amount: 1000 }, { amount: 500 }]);
  await deposit(server, { quote_id: story.quote_id, amount: 700 });
  good(await story.execute());
  await settle(server);
  await server.call("POST", `/users/${story.user_id}/refund_addresses`, {
    refund_address: { chain: "polygon", address: REFUND_ADDRESS },
  });
  const refund = { token: "usdc", chain: "polygon", amount: 200, address: REFUND_ADDRESS };
  const ask = () => server.call("POST", `/users/${story.user_id}/refunds`, { refund });
  expect((await ask()).body.error_code).toBe("record_invalid");
  const [{ status }] = (await sql("select status from offramps where id = $1", [
    story.offramp_id,
  ])) as [{ status: string }];
  const set = (to: string) =>
    sql("update offramps set status = $2 where id = $1", [story.offramp_id, to]);
  await set("failed");
  expect((await ask()).status).toBe(500);
  await set(status);
  const closed = (to: string) =>
    sql(`update quotes set closed_at = ${to} where id = $1`, [story.quote_id]);
  await closed("now()");
  expect((await ask()).status).toBe(500);
  await closed("null");
  const total = (by: string) =>
    sql(`update quotes set token_amount = token_amount ${by} where id = $1`, [story.quote_id]);
  await total("- 1400000000");
  expect((await ask()).status).toBe(500);
  await total("+ 1400000000");
  expect((await ask()).body.error_code).toBe("record_invalid");
  expect(await story.owed()).toBe(700);
  expect(await findFault(server)).toBeNull();
});
