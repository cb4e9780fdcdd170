import { afterAll, beforeAll, expect, it } from "vitest";
import { ACCOUNTS } from "../../../src/accounts/store.ts";
import { HOUR_MS } from "../../../src/platform/durations.ts";
import { setKyc } from "../../harness/ramp.ts";
import { createTestRates } from "../../harness/rates.ts";
import { startTestServer, type TestServer } from "../../harness/server.ts";
import { vouch } from "../../harness/vouch.ts";
import { advance, deposit, findFault, good, openStory, settle } from "../story.ts";

const rates = createTestRates({ eur: "0.8" });

let server: TestServer;
beforeAll(async () => {
  const environment = { ...rates.environment, SLIPROAD_DOCUMENTS: "review" };
  server = await startTestServer({ environment });
});
afterAll(() => server.close());

/** A paid payout of 200 eur whose document waits for a review. */
async function openReviewed(caller = server) {
  await rates.set(server, { eur: "0.8" });
  const story = await openStory(caller, [{ amount: 200 }]);
  const upload = async (text: string) => {
    const body = new FormData();
    body.set("file", new Blob([`%PDF-1.7 ${text}`], { type: "application/pdf" }), "invoice.pdf");
    const path = `${server.url}/offramps/${story.offramp_id}/supporting-documents`;
    const headers = { authorization: `Bearer ${caller.key}` };
    expect((await fetch(path, { method: "POST", headers, body })).status).toBe(200);
    await settle(server);
  };
  const approve = async () => {
    const supporting_document = { status: "approved" };
    const path = `/offramps/${story.offramp_id}/supporting-documents`;
    good(await caller.call("PATCH", path, { supporting_document }));
    await settle(server);
  };
  await upload("the first one");
  await deposit(caller, { quote_id: story.quote_id, amount: await story.total() });
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

/** A server as seen by an account that reviews its own documents and users. */
async function openOwnReviewer(): Promise<TestServer> {
  const { account_id, key } = await server.addAccount("Reviews its own");
  await server.core.database.query(
    `update accounts set document_review_by_account = true, kyc_review_by_account = true
     where id = $1`,
    [account_id],
  );
  await vouch(server.core.database, ACCOUNTS);
  return { ...server, key, call: (...request) => callAs(key, request) };
}

function callAs(key: string, [method, path, body, options]: Parameters<TestServer["call"]>) {
  return server.call(method, path, body, { key, ...options });
}

it("an account that reviews its own documents and users has no option on the rate", async () => {
  const own = await openOwnReviewer();
  const late = await openReviewed(own);
  const suspended = await openReviewed(own);
  const setStatus = (status: string) => setKyc(own, suspended.user_id, { status });
  good(await setStatus("suspended"));
  await suspended.approve();
  expect((await suspended.show()).status).toBe("ongoing_checks");
  await advance(server, 2 * HOUR_MS);
  await rates.set(server, { eur: "0.77" });
  const totals = [await late.total(), await suspended.total()];
  await late.approve();
  good(await setStatus("approved"));
  await settle(server);
  expect([(await late.show()).status, (await suspended.show()).status]).toEqual([
    "failed",
    "failed",
  ]);
  expect([await late.owed(), await suspended.owed()]).toEqual(totals);
  const prompt = await openReviewed(own);
  await prompt.approve();
  expect((await prompt.show()).status).toBe("fiat_sent");
});

it("sliproad verify finds no problems after these tests", async () => {
  await settle(server);
  expect(await findFault(server)).toBeNull();
});
