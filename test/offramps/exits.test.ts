import { afterAll, beforeAll, expect, it } from "vitest";
import { signingKey } from "../../src/platform/sealing/seal.ts";
import { signingSeed } from "../../src/platform/sealing/signing-seed.ts";
import { realTime } from "../../src/platform/tasks/real-time.ts";
import { verify } from "../../src/verify/verify.ts";
import { addApprovedUser, addPaymentDetail, addQuote, execute } from "../harness/ramp.ts";
import { startTestServer, type TestServer } from "../harness/server.ts";
import { waitFor } from "../harness/wait-for.ts";

let server: TestServer;
beforeAll(async () => {
  server = await startTestServer({ environment: { SLIPROAD_DOCUMENTS: "never" } });
});
afterAll(() => server.close());

async function addOfframp() {
  const user_id = await addApprovedUser(server);
  const payment_detail_id = await addPaymentDetail(server, user_id, "eur");
  const quote_id = await addQuote(server, user_id);
  const path = `/users/${user_id}/quotes/${quote_id}`;
  const offramps = [{ payment_detail_id, destination_amount: 300, destination_currency: "eur" }];
  const made = await server.call("POST", `${path}/offramps`, { offramps });
  return { user_id, quote_id, path, id: made.body.offramps[0].id as string };
}

const deposit = (quote_id: string, amount: number | string) =>
  server.call("POST", "/sandbox/crypto_deposits", { crypto_deposit: { quote_id, amount } });

const forceStatus = (id: string, status: string) =>
  server.call("PATCH", `/sandbox/offramps/${id}`, { offramp: { status } });

async function findFault(): Promise<string | null> {
  const { database, keyring, clock, config } = server.core;
  const input = { now: clock.now(), real_now: realTime(clock), keyring };
  return (await verify(database, signingKey(signingSeed(config)), input)).fault;
}

it("the sandbox moves an offramp with a short deposit to fiat_sent by paying the rest", async () => {
  const { user_id, quote_id, id } = await addOfframp();
  await deposit(quote_id, 10);
  await execute(server, user_id, quote_id);
  await waitFor(async () => {
    const { body } = await server.call("GET", `/users/${user_id}/offramps/${id}`);
    return body.offramp.status === "ongoing_checks";
  });
  const forced = await forceStatus(id, "fiat_sent");
  expect(forced.status, forced.text).toBe(200);
  expect(forced.body.offramp.status).toBe("fiat_sent");
  expect(await findFault()).toBeNull();
});

it("the sandbox moves an offramp whose deposit was refunded by paying again", async () => {
  const { user_id, quote_id, path, id } = await addOfframp();
  const { deposit_token_amount } = (await server.call("GET", path)).body.quote;
  await deposit(quote_id, deposit_token_amount);
  const address = "0x5aaeb6053f3e94c9b9a09f33669435e7ef1beaed";
  const refund_address = { chain: "polygon", address };
  await server.call("POST", `/users/${user_id}/refund_addresses`, { refund_address });
  const refund = { token: "usdc", chain: "polygon", amount: deposit_token_amount, address };
  expect((await server.call("POST", `/users/${user_id}/refunds`, { refund })).status).toBe(200);
  const forced = await forceStatus(id, "fiat_sent");
  expect(forced.status, forced.text).toBe(200);
  expect(await findFault()).toBeNull();
});

it("the message shows how much is still missing after a partial deposit", async () => {
  const { user_id, quote_id, path, id } = await addOfframp();
  const total = (await server.call("GET", path)).body.quote.deposit_token_amount;
  await deposit(quote_id, 50);
  await execute(server, user_id, quote_id);
  const messageHas = (text: string) =>
    waitFor(async () => {
      const { body } = await server.call("GET", `/users/${user_id}/offramps/${id}`);
      return body.offramp.status_message?.includes(text);
    });
  await messageHas(`short by ${Number((total - 50).toFixed(6))}`);
  await deposit(quote_id, 50);
  await messageHas(`short by ${Number((total - 100).toFixed(6))}`);
});

it("a balance with more digits than a JavaScript number can represent is shown exactly", async () => {
  const { user_id, quote_id } = await addOfframp();
  for (let times = 0; times < 12; times += 1) await deposit(quote_id, "999999999.999999");
  const shown = await server.call("GET", `/users/${user_id}/balances`);
  expect(shown.status).toBe(200);
  expect(shown.text).toContain('"amount":11999999999.999988');
});

it("422 record_invalid alone when a re-route names a malformed id", async () => {
  const { user_id, id } = await addOfframp();
  await forceStatus(id, "bounced");
  const path = `/users/${user_id}/offramps/${id}/reroute`;
  const answer = await server.call("POST", path, { offramp: { payment_detail_id: "x" } });
  expect(answer.status).toBe(422);
  expect(answer.body.errors.map((error: { code: string }) => error.code)).toEqual([
    "record_invalid",
  ]);
});

it("404 record_not_found when a re-route names no record of the user, whatever else is wrong", async () => {
  const { user_id, id } = await addOfframp();
  const path = `/users/${user_id}/offramps/${id}/reroute`;
  const answer = await server.call("POST", path, { offramp: { payment_detail_id: user_id } });
  expect(answer.body).toMatchObject({
    status: 404,
    error_code: "record_not_found",
    errors: [
      { field: "offramp.payment_detail_id", code: "record_not_found" },
      { field: "offramp_id", code: "invalid_transition" },
    ],
  });
});

it("verify reports an offramp whose bank proof or encrypted details were changed", async () => {
  const { id } = await addOfframp();
  await forceStatus(id, "fiat_sent");
  const change = async (assignment: string) => {
    const { database } = server.db;
    const [row] = await database.query(
      "select payout_reference, details from offramps where id = $1",
      [id],
    );
    await database.query(`update offramps set ${assignment} where id = $1`, [id]);
    const fault = await findFault();
    await database.query("update offramps set payout_reference = $2, details = $3 where id = $1", [
      id,
      row!.payout_reference,
      row!.details,
    ]);
    return fault;
  };
  const swapped = `payout_reference = payout_reference || jsonb_build_object(
    'uetr', payout_reference->'end_to_end_id', 'end_to_end_id', payout_reference->'uetr')`;
  expect(await change(swapped)).toContain(id);
  const altered = "details = set_byte(details, 20, (get_byte(details, 20) + 1) % 256)";
  expect(await change(altered)).toContain(id);
  expect(await findFault()).toBeNull();
});
