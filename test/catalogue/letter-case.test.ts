import { afterAll, beforeAll, expect, it } from "vitest";
import { addApprovedUser, addPaymentDetail } from "../harness/ramp.ts";
import { startTestServer, type TestServer } from "../harness/server.ts";
import { good } from "../offramps/story.ts";
import { REQUEST } from "../onramps/story.ts";

let server: TestServer;
let user_id: string;
beforeAll(async () => {
  server = await startTestServer();
  user_id = await addApprovedUser(server);
});
afterAll(() => server.close());

it("currencies, chains and rails are accepted in any case, shown in lower case", async () => {
  const quotes = `/users/${user_id}/quotes`;
  const wanted = { deposit_token: "USDC", deposit_token_chain: "Polygon" };
  const { quote } = good(await server.call("POST", quotes, { quote: wanted }));
  expect(quote).toMatchObject({ deposit_token: "usdc", deposit_token_chain: "polygon" });
  const payment_detail_id = await addPaymentDetail(server, user_id, "usd");
  const item = {
    ...{ payment_detail_id, destination_amount: 100 },
    ...{ destination_currency: "Usd", rails: "LOCAL" },
  };
  const path = `${quotes}/${quote.id}/offramps`;
  const [offramp] = good(await server.call("POST", path, { offramps: [item] })).offramps;
  expect(offramp).toMatchObject({ destination_currency: "usd", rails: "local" });
  const onramp = {
    ...REQUEST,
    ...{ crypto_currency: "USDT", crypto_rails: "POLYGON" },
    ...{ fiat_currency: "Usd", fiat_rails: "ACH_Push" },
  };
  expect(
    good(await server.call("POST", `/users/${user_id}/onramps`, { onramp })).onramp,
  ).toMatchObject({
    ...{ crypto_currency: "usdt", crypto_rails: "polygon" },
    ...{ fiat_currency: "usd", fiat_rails: "ach_push" },
  });
  const asked = "/payment_detail_requirements?currency=EUR&rails=Local&beneficiary_type=individual";
  const { payment_detail_requirements } = good(await server.call("GET", asked));
  expect(payment_detail_requirements).toMatchObject([{ currency: "eur", rails: "local" }]);
  const address = { chain: "ETHEREUM", address: "0x5aaeb6053f3e94c9b9a09f33669435e7ef1beaed" };
  const registered = await server.call("POST", `/users/${user_id}/refund_addresses`, {
    refund_address: address,
  });
  expect(good(registered).refund_address.chain).toBe("ethereum");
});

it("letters that match only after Unicode case conversion are refused", async () => {
  for (const deposit_token of ["uſdc", "USDC\u0307", "usdc "]) {
    const quote = { deposit_token, deposit_token_chain: "polygon" };
    const answer = await server.call("POST", `/users/${user_id}/quotes`, { quote });
    if (deposit_token.trim() === "usdc") expect(answer.status).toBe(200);
    else expect(answer.body.errors).toMatchObject([{ field: "quote.deposit_token" }]);
  }
});
