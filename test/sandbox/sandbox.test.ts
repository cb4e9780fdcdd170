import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest";
import { DAY_MS } from "../../src/platform/durations.ts";
import { addPaymentDetail } from "../harness/ramp.ts";
import { type Receiver, startReceiver } from "../harness/receiver.ts";
import { startTestServer, type TestServer } from "../harness/server.ts";
import { findFault, good, openStory, type Story } from "../offramps/story.ts";
import { addApp } from "../webhooks/webhook-fixture.ts";

let server: TestServer;
let receiver: Receiver;
beforeAll(async () => {
  server = await startTestServer({ environment: { SLIPROAD_DOCUMENTS: "never" } });
  receiver = await startReceiver();
  await addApp(server, { webhook_url: receiver.url, events: ["offramp_update"] });
});
afterAll(async () => {
  await receiver.close();
  await server.close();
});
afterEach(async () => expect(await findFault(server)).toBeNull());

const advance = (body: unknown) => server.call("POST", "/sandbox/clock", body);
/** The states of an offramp as an application received them. */
const statesOf = (id: string): string[] =>
  receiver.received
    .map(({ body }) => body.payload.offramp)
    .filter((offramp) => offramp.id === id)
    .map(({ status }) => status);

describe("the clock", () => {
  it.each([-1, 0.5, "60000", null, 400 * DAY_MS + 1, true])(
    "refuses advance_ms = %j",
    async (advance_ms) => {
      const before = good(await server.call("GET", "/sandbox/clock")).clock.now;
      const answer = await advance({ advance_ms });
      expect([400, 422]).toContain(answer.status);
      expect(answer.body.errors).toMatchObject([{ field: "advance_ms" }]);
      const after = good(await server.call("GET", "/sandbox/clock")).clock.now;
      expect(Date.parse(after) - Date.parse(before)).toBeLessThan(DAY_MS);
    },
  );

  it("moves forward by the requested time, for every later response", async () => {
    const before = good(await server.call("GET", "/sandbox/clock")).clock.now;
    const { clock } = good(await advance({ advance_ms: 3 * DAY_MS }));
    expect(Date.parse(clock.now) - Date.parse(before)).toBeGreaterThanOrEqual(3 * DAY_MS);
    const story = await openStory(server);
    expect((await story.show()).created_at >= clock.now).toBe(true);
  });

  it("responds idle when a payout has finished and its events were delivered", async () => {
    const stories: Story[] = [];
    for (let count = 0; count < 3; count += 1) stories.push(await openStory(server));
    await Promise.all(stories.map(async (story) => good(await story.execute())));
    expect(good(await advance({ advance_ms: 0 })).clock.idle).toBe(true);
    // From here on the test does not wait for anything.
    for (const story of stories) {
      expect((await story.show()).status).toBe("fiat_sent");
      expect(statesOf(story.offramp_id)).toEqual([
        "initiated",
        "pending_internal_assessment",
        "sending_fiat",
        "fiat_sent",
      ]);
    }
  });
});

describe("metadata.sandbox_outcome", () => {
  it.each<[outcome: string, states: string[]]>([
    ["fiat_sent", ["sending_fiat", "fiat_sent"]],
    ["bounced", ["sending_fiat", "fiat_sent", "bounced"]],
    ["failed", ["sending_fiat", "failed"]],
    ["stuck", ["sending_fiat"]],
  ])("%s: the offramp passes through %j", async (sandbox_outcome, states) => {
    const story = await openStory(server, [{ amount: 100, metadata: { sandbox_outcome } }]);
    good(await story.execute());
    expect(good(await advance({ advance_ms: 0 })).clock.idle).toBe(true);
    expect(statesOf(story.offramp_id).slice(2)).toEqual(states);
    expect((await story.show()).status).toBe(states.at(-1));
  });

  it.each(["bounced,bouncd", "", true])("%j is refused", async (sandbox_outcome) => {
    const { user_id, payment_detail_id, addQuote } = await openStory(server);
    const item = { payment_detail_id, destination_amount: 100, destination_currency: "eur" };
    const metadata = { sandbox_outcome };
    const path = `/users/${user_id}/quotes/${await addQuote()}/offramps`;
    const added = await server.call("POST", path, { offramps: [{ ...item, metadata }] });
    expect(added).toMatchObject({ status: 422, body: { error_code: "record_invalid" } });
    expect(added.body.errors[0].field).toBe("offramps[0].metadata.sandbox_outcome");
    const known = { offramps: [{ ...item, metadata: { sandbox_outcome: "stuck , failed" } }] };
    const { id } = good(await server.call("POST", path, known)).offramps[0];
    const edited = await server.call("PATCH", `${path}/${id}`, { offramp: { metadata } });
    expect(edited).toMatchObject({ status: 422, body: { error_code: "record_invalid" } });
    expect(edited.body.errors[0].field).toBe("offramp.metadata.sandbox_outcome");
  });
});

describe("payout_reference", () => {
  it("is null until the bank has sent the money, then its proof; a return keeps it", async () => {
    const metadata = { sandbox_outcome: "stuck" };
    const waiting = await openStory(server, [{ amount: 100, metadata }]);
    good(await waiting.execute());
    good(await advance({ advance_ms: 0 }));
    expect(await waiting.show()).toMatchObject({ status: "sending_fiat", payout_reference: null });
    const returned = { sandbox_outcome: "bounced" };
    const story = await openStory(server, [{ amount: 100, metadata: returned }]);
    expect((await story.show()).payout_reference).toBeNull();
    good(await story.execute());
    good(await advance({ advance_ms: 0 }));
    const { status, payout_reference } = await story.show();
    expect(status).toBe("bounced");
    expect(payout_reference).toEqual({
      end_to_end_id: `${story.offramp_id.replaceAll("-", "")}001`,
      trace_number: null,
      uetr: expect.stringMatching(/^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-/),
    });
  });

  it("of a payout in usd by local rails has the 15 digits of an ACH trace", async () => {
    const story = await openStory(server);
    const payment_detail_id = await addPaymentDetail(server, story.user_id, "usd");
    const quote_id = await story.addQuote();
    const path = `/users/${story.user_id}/quotes/${quote_id}/offramps`;
    const item = { payment_detail_id, destination_amount: 100, destination_currency: "usd" };
    const [{ id }] = good(await server.call("POST", path, { offramps: [item] })).offramps;
    good(await story.execute(undefined, quote_id));
    good(await advance({ advance_ms: 0 }));
    const { payout_reference } = await story.show(id);
    expect(payout_reference.trace_number).toMatch(/^\d{15}$/);
  });
});
