import type { TestServer } from "../harness/server.ts";
import { deposit, good, openStory, settle } from "./story.ts";

/** Offramps in every state, a quote that waits, a short one, a refund. */
export async function createPayoutsInEveryState(server: TestServer): Promise<void> {
  const outcomes = ["fiat_sent", "bounced", "failed", "stuck"];
  const items = outcomes.map((outcome) => ({
    amount: 100,
    metadata: { sandbox_outcome: outcome },
  }));
  const paid = await openStory(server, items);
  await deposit(server, { quote_id: paid.quote_id, amount: (await paid.total()) + 5 });
  good(await paid.execute());
  await paid.waitForStatus("fiat_sent", paid.offramp_ids[0]);
  await paid.waitForStatus("bounced", paid.offramp_ids[1]);
  await paid.waitForStatus("failed", paid.offramp_ids[2]);
  await paid.waitForStatus("sending_fiat", paid.offramp_ids[3]);
  await paid.takeOut(5);
  good(await paid.reroute(paid.payment_detail_id, paid.offramp_ids[1]));
  await settle(server);
  const short = await openStory(server);
  await deposit(server, { quote_id: short.quote_id, amount: 10 });
  good(await short.execute());
  await short.waitForStatus("ongoing_checks");
  await openStory(server);
}
