import { createHmac } from "node:crypto";
import { Webhook as StandardWebhook } from "standardwebhooks";
import { Webhook as SvixWebhook } from "svix";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { type Receiver, startReceiver } from "../harness/receiver.ts";
import { startTestServer, type TestServer } from "../harness/server.ts";
import { addApp, emit, readEvents } from "./webhook-room.ts";

let server: TestServer;
let receiver: Receiver;
beforeAll(async () => {
  server = await startTestServer();
});
afterAll(() => server.close());
beforeEach(async () => {
  receiver = await startReceiver();
});
afterEach(async () => {
  await server.db.database.query("update apps set webhook_url = null");
  await receiver.close();
});

describe("a delivery", () => {
  it("carries the exact bytes of the event, verified by the published libraries", async () => {
    const { webhook_secret } = await addApp(server, { webhook_url: receiver.url });
    const [event] = await emit(server, { sequence: 3 });
    const [got] = await receiver.waitFor(1);
    expect(got!.raw.toString()).toBe(event!.body);
    const headers = got!.headers as Record<string, string>;
    expect(new StandardWebhook(webhook_secret).verify(got!.raw, headers)).toEqual(got!.body);
    expect(new SvixWebhook(webhook_secret).verify(got!.raw, headers)).toEqual(got!.body);
    const hex = createHmac("sha256", webhook_secret).update(got!.raw).digest("hex");
    expect(headers["x-webhook-signature"]).toBe(hex);
    expect(headers["x-webhook-sequence"]).toBe("3");
    expect(headers["content-type"]).toBe("application/json");
    const events = await readEvents(server);
    expect(events.at(-1)).toMatchObject({ id: headers["webhook-id"], body: event!.body });
  });
});
