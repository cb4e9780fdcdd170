import { afterAll, beforeAll, expect, it } from "vitest";
import { existsOpenOfframp } from "../../src/offramps/store.ts";
import { eraseUser } from "../../src/users/erase-user.ts";
import { addApprovedUser, addPaymentDetail, addQuote } from "../harness/ramp.ts";
import { startTestServer, type TestServer } from "../harness/server.ts";

let server: TestServer;
beforeAll(async () => {
  server = await startTestServer({ environment: { SLIPROAD_DOCUMENTS: "never" } });
});
afterAll(() => server.close());

function erase(user_id: string) {
  const { database, keyring, clock } = server.core;
  const key = { account_id: server.account_id, user_id };
  const by = { actor: "command line", reason: "asked to" } as const;
  return eraseUser(database, keyring, key, by, clock.now(), existsOpenOfframp);
}

it("a person to whom money is owed cannot be erased", async () => {
  const user_id = await addApprovedUser(server);
  const quote_id = await addQuote(server, user_id);
  const crypto_deposit = { quote_id, amount: 5 };
  await server.call("POST", "/sandbox/crypto_deposits", { crypto_deposit });
  expect(await erase(user_id)).toBe("busy");
  expect((await server.call("GET", `/users/${user_id}`)).status).toBe(200);
});

it("a person with an unfinished payout cannot be erased until it ends", async () => {
  const user_id = await addApprovedUser(server);
  const payment_detail_id = await addPaymentDetail(server, user_id, "eur");
  const quote_id = await addQuote(server, user_id);
  const made = await server.call("POST", `/users/${user_id}/quotes/${quote_id}/offramps`, {
    offramps: [{ payment_detail_id, destination_amount: 10, destination_currency: "eur" }],
  });
  expect(await erase(user_id)).toBe("busy");
  const offramp = { status: "fiat_sent" };
  await server.call("PATCH", `/sandbox/offramps/${made.body.offramps[0].id}`, { offramp });
  expect(await erase(user_id)).toBe("erased");
  expect((await server.call("GET", `/users/${user_id}`)).status).toBe(404);
  expect(await erase(user_id)).toBe("unknown");
});
