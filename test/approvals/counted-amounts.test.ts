import { afterAll, beforeAll, expect, it } from "vitest";
import { HOUR_MS } from "../../src/platform/durations.ts";
import { createTestRates } from "../harness/rates.ts";
import { startTestServer, type TestServer } from "../harness/server.ts";
import { advance, findFault, good, openStory, type Story } from "../offramps/story.ts";
import { addMember, addOwedUser, payOut, proposalIn, type TestMember } from "./proposal-fixture.ts";

// 450 eur are 500 usd.
const rates = createTestRates({ eur: "0.9" });
const AMOUNT = 450;

let server: TestServer;
let ada: TestMember;
let ben: TestMember;
beforeAll(async () => {
  const settings = { SLIPROAD_APPROVAL_ABOVE_USD: "1010", SLIPROAD_DOCUMENTS: "never" };
  server = await startTestServer({ environment: { ...rates.environment, ...settings } });
  ada = await addMember(server, "admin");
  ben = await addMember(server, "finance_manager");
});
afterAll(() => server.close());

async function openBounced(items: { amount: number }[]): Promise<Story> {
  const story = await openStory(server, items);
  await payOut(server, story, [ada, ben]);
  for (const id of story.offramp_ids) {
    const path = `/sandbox/offramps/${id}`;
    good(await server.call("PATCH", path, { offramp: { status: "bounced" } }));
  }
  return story;
}

it("a re-route of a payout whose execution counted does not count again", async () => {
  const story = await openBounced([{ amount: AMOUNT }]);
  good(await story.reroute());
  const user = await addOwedUser(server, 2000);
  // After the 500 usd of the execution 510 usd are left.
  expect(good(await user.refund(510)).refund.status).toBe("pending");
  proposalIn(await user.refund(1));
});

it("a re-route of a payout that went by approval counts", async () => {
  await advance(server, 25 * HOUR_MS);
  const story = await openBounced([{ amount: AMOUNT }, { amount: AMOUNT }, { amount: AMOUNT }]);
  const [first, second, third] = story.offramp_ids;
  for (const id of [first, second]) {
    expect(good(await story.reroute(story.payment_detail_id, id)).offramp.status).toBe(
      "sending_fiat",
    );
  }
  proposalIn(await story.reroute(story.payment_detail_id, third));
});

it("reviews of documents need approval by their single amount only, and do not count", async () => {
  await advance(server, 25 * HOUR_MS);
  const items = [{ amount: AMOUNT }, { amount: AMOUNT }, { amount: AMOUNT }];
  const story = await openStory(server, items);
  for (const id of story.offramp_ids) {
    await story.upload(id);
    const path = `/offramps/${id}/supporting-documents`;
    const supporting_document = { status: "approved" };
    const { offramp } = good(await server.call("PATCH", path, { supporting_document }));
    expect(offramp.supporting_document.status).toBe("approved");
  }
  const user = await addOwedUser(server, 2000);
  expect(good(await user.refund(1010)).refund.status).toBe("pending");
});

it("sliproad verify finds no problems after these tests", async () => {
  expect(await findFault(server)).toBeNull();
});
