import { afterAll, beforeAll, expect, it } from "vitest";
import { RAMP_EVENTS } from "../../src/events/model.ts";
import { startTestServer, type TestServer } from "../harness/server.ts";
import { good, openStory, settle } from "../offramps/story.ts";
import { openOnramp } from "../onramps/story.ts";

let server: TestServer;
beforeAll(async () => {
  server = await startTestServer();
});
afterAll(() => server.close());

it("events of a record that happen at once have timestamps in their order, all different", async () => {
  const { user_id, payment_detail_id, offramp_id } = await openStory(server);
  const { id: onramp_id } = await openOnramp(server);
  const set = async (path: string, name: string, status: string) =>
    good(await server.call("PATCH", `/sandbox/${path}`, { [name]: { status } }));
  await set(`users/${user_id}/kycs`, "kyc", "suspended");
  await set(`users/${user_id}/kycs`, "kyc", "approved");
  await set(`users/${user_id}/payment_details/${payment_detail_id}`, "payment_detail", "pending");
  await set(`users/${user_id}/payment_details/${payment_detail_id}`, "payment_detail", "approved");
  await set(`offramps/${offramp_id}`, "offramp", "bounced");
  await set(`onramps/${onramp_id}`, "onramp", "crypto_sent");
  await settle(server);

  const last = new Map<string, { sequence: number; timestamp: number }>();
  const seen = new Map<string, number>();
  for (let after = ""; ; ) {
    const path = `/webhook_events?limit=100${after && `&starting_after=${after}`}`;
    const { webhook_events, has_more } = good(await server.call("GET", path));
    for (const { id, event, record_id, sequence, body } of webhook_events) {
      const { timestamp, payload } = JSON.parse(body);
      const before = last.get(record_id) ?? { sequence: 0, timestamp: 0 };
      expect(sequence).toBe(before.sequence + 1);
      expect(timestamp).toBeGreaterThan(before.timestamp);
      const [record] = Object.values<{ updated_at: string }>(payload);
      expect(new Date(record!.updated_at).getTime()).toBe(timestamp);
      last.set(record_id, { sequence, timestamp });
      seen.set(event, Math.max(seen.get(event) ?? 0, sequence));
      after = id;
    }
    if (!has_more) break;
  }
  expect([...seen.keys()].sort()).toEqual([...RAMP_EVENTS].sort());
  for (const [event, events] of seen) expect(events, event).toBeGreaterThan(1);
});
