import type { LiveHome } from "../harness/live.ts";
import { addPaymentDetail, addQuote, addUser } from "../harness/ramp.ts";
import type { TestServer } from "../harness/server.ts";
import { waitFor } from "../harness/wait-for.ts";
import { good } from "../offramps/story.ts";

const MOVED_MS = 60_000;

/** A funded payout of some eur. */
export async function addPayout(home: LiveHome, server: TestServer, amount: number) {
  const user_id = await addUser(server);
  const payment_detail_id = await addPaymentDetail(server, user_id, "eur");
  const quote_id = await addQuote(server, user_id);
  const path = `/users/${user_id}`;
  const offramp = { payment_detail_id, destination_amount: amount, destination_currency: "eur" };
  const created = await server.call("POST", `${path}/quotes/${quote_id}/offramps`, {
    offramps: [offramp],
  });
  const { id } = good(created).offramps[0];
  const { quote, deposit_address } = good(await server.call("GET", `${path}/quotes/${quote_id}`));
  const needed = BigInt(Math.round(quote.deposit_token_amount * 1e6));
  const tx_id = await home.chain.usdc.transfer(deposit_address.address, needed + 20_000_000n);
  const crypto_transfer = { tx_id, blockchain: "polygon", network: "31337" };
  good(
    await server.call("POST", `${path}/quotes/${quote_id}/execute`, {
      quote: { crypto_transfer },
    }),
  );
  const end_to_end_id = `${id.replaceAll("-", "")}001`;
  const payout = { user_id, id, end_to_end_id };
  await waitForStatus(server, payout, "sending_fiat");
  return payout;
}

type Payout = Awaited<ReturnType<typeof addPayout>>;

export function waitForStatus(server: TestServer, { user_id, id }: Payout, status: string) {
  return waitFor(async () => {
    const { offramp } = good(await server.call("GET", `/users/${user_id}/offramps/${id}`));
    return offramp.status === status && offramp;
  }, MOVED_MS);
}
