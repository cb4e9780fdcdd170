import { createHmac } from "node:crypto";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type Receiver, startReceiver } from "../harness/receiver.ts";
import { startTestServer, type TestServer } from "../harness/server.ts";
import { addApp, emit, idle, type MadeApp } from "../webhooks/webhook-fixture.ts";
import { type BrowserMember, signInMember } from "./dashboard-server.ts";

let server: TestServer;
let receiver: Receiver;
let dev: BrowserMember;
let app: MadeApp;
const at = (path: string, of = app) => `/dashboard/api/apps/${of.id}${path}`;
const read = async (path: string) => (await dev.call("GET", at(path))).json();

beforeAll(async () => {
  [server, receiver] = await Promise.all([startTestServer(), startReceiver()]);
  const { account_id } = server;
  dev = await signInMember(server, { account_id, role: "developer", email: "dev@example.test" });
  app = await addApp(server, { webhook_url: receiver.url, events: ["offramp_update"] });
  await addApp(server, { webhook_url: `${receiver.url}/other` });
});
afterAll(async () => {
  await receiver?.close();
  await server?.close();
});

describe("the delivery log of an application", () => {
  it("shows a test event with its request, signature and answer", async () => {
    const sent = await dev.call("POST", at("/test_event"), { event: "offramp_update" });
    expect(sent.json()).toEqual({ sent: 1 });
    await idle(server);
    const { deliveries, next } = await read("/deliveries");
    expect(deliveries).toMatchObject([
      { event: "offramp_update", status: "delivered", attempts: [{ number: 1, status: 200 }] },
    ]);
    expect(next).toBeNull();
    const shown = await read(`/deliveries/${deliveries[0].id}`);
    const [received] = receiver.received;
    expect(shown).toMatchObject({ is_sample: true, request: { url: receiver.url } });
    expect(shown.request.body).toBe(received!.raw.toString());
    const headers = new Map<string, string | null>(
      shown.request.headers.map((one: { name: string; value: string | null }) => [
        one.name,
        one.value,
      ]),
    );
    const digest = createHmac("sha256", app.webhook_secret).update(received!.raw).digest("hex");
    expect(headers.get("x-webhook-signature")).toBe(digest);
    for (const [name, value] of headers) {
      if (value !== null) expect(received!.headers[name]).toBe(value);
    }
  });

  it("is of this application alone, by state and page by page", async () => {
    receiver.answer(() => 500);
    await emit(server, ...Array.from({ length: 27 }, () => ({})));
    await idle(server);
    const first = await read("/deliveries?status=pending");
    expect(first.deliveries).toHaveLength(25);
    const second = await read(`/deliveries?status=pending&after=${first.next}`);
    const all = [...first.deliveries, ...second.deliveries];
    expect(new Set(all.map(({ id }) => id)).size).toBe(27);
    expect(new Set(all.map(({ app_id }) => app_id))).toEqual(new Set([app.id]));
    expect(second.next).toBeNull();
    expect((await read("/deliveries?status=failed")).deliveries).toEqual([]);
    receiver.answer(() => 200);
  });

  it("counts what a replay would send before it is sent", async () => {
    const range = `from=2020-01-01T00:00:00Z&to=2099-01-01T00:00:00Z`;
    expect(await read(`/replay_count?${range}`)).toEqual({ count: 27, is_more: false });
    const failed = await read(`/replay_count?${range}&only_failed=true`);
    expect(failed).toEqual({ count: 0, is_more: false });
    expect((await dev.call("GET", at("/replay_count?from=soon"))).statusCode).toBe(422);
  });

  it("refuses what the application did not choose, and other accounts", async () => {
    const unchosen = await dev.call("POST", at("/test_event"), { event: "kyc_update" });
    expect(unchosen.json().message).toContain("does not receive kyc_update events");
    const other = await server.addAccount("other");
    const eve = await signInMember(server, {
      ...{ account_id: other.account_id, role: "admin", email: "eve@example.test" },
    });
    const { deliveries } = await read("/deliveries");
    const one = `/deliveries/${deliveries[0].id}`;
    for (const path of ["/deliveries", one, "/replay_count?from=2020-01-01"]) {
      expect((await eve.call("GET", at(path))).statusCode).toBe(404);
    }
    const sent = await eve.call("POST", at("/test_event"), { event: "paid" });
    expect(sent.statusCode).toBe(404);
  });
});
