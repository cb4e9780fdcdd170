import { afterAll, beforeAll, expect, it } from "vitest";
import { HOUR_MS } from "../../../src/platform/durations.ts";
import { createTestRates } from "../../harness/rates.ts";
import { startTestServer, type TestServer } from "../../harness/server.ts";
import { advance, deposit, findFault, good, openStory, settle } from "../story.ts";

const rates = createTestRates({ eur: "0.8" });

let server: TestServer;
beforeAll(async () => {
  const environment = { ...rates.environment, SLIPROAD_DOCUMENTS: "review" };
  server = await startTestServer({ environment });
});
afterAll(() => server.close());

/** A paid payout of 200 eur whose document waits for the operator's review. */
async function openReviewed() {
  await rates.set(server, { eur: "0.8" });
  const story = await openStory(server, [{ amount: 200 }]);
  const upload = async (text: string) => {
    const body = new FormData();
    body.set("file", new Blob([`%PDF-1.7 ${text}`], { type: "application/pdf" }), "invoice.pdf");
    const path = `${server.url}/offramps/${story.offramp_id}/supporting-documents`;
    const headers = { authorization: `Bearer ${server.key}` };
    expect((await fetch(path, { method: "POST", headers, body })).status).toBe(200);
    await settle(server);
  };
  const approve = async () => {
    const supporting_document = { status: "approved" };
    const path = `/offramps/${story.offramp_id}/supporting-documents`;
    good(await server.call("PATCH", path, { supporting_document }));
    await settle(server);
  };
  await upload("the first one");
  await deposit(server, { quote_id: story.quote_id, amount: await story.total() });
  good(await story.execute());
  await settle(server);
  expect((await story.show()).status_message).toContain("waiting for review");
  return { ...story, upload, approve };
}

it("the operator's own review does not cost the caller the rate", async () => {
  const story = await openReviewed();
  await advance(server, 20 * HOUR_MS);
  await rates.set(server, { eur: "0.77" });
  await story.approve();
  expect((await story.show()).status).toBe("fiat_sent");
});

it("a caller who replaces the document again and again keeps no option on the rate", async () => {
  const story = await openReviewed();
  const total = await story.total();
  for (const hour of [1, 2, 3]) {
    await advance(server, HOUR_MS);
    await story.upload(`another one after ${hour} hours`);
  }
  await rates.set(server, { eur: "0.77" });
  await story.approve();
  expect((await story.show()).status).toBe("failed");
  expect(await story.owed()).toBe(total);
  const close = await openReviewed();
  await advance(server, 3 * HOUR_MS);
  await close.upload("a better one");
  await close.approve();
  expect((await close.show()).status).toBe("fiat_sent");
});

it("sliproad verify finds no problems after these tests", async () => {
  await settle(server);
  expect(await findFault(server)).toBeNull();
});
