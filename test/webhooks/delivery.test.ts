import { createHmac, randomUUID } from "node:crypto";
import { Webhook as StandardWebhook } from "standardwebhooks";
import { Webhook as SvixWebhook } from "svix";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { type Receiver, startReceiver } from "../harness/receiver.ts";
import { startTestServer, type TestServer } from "../harness/server.ts";
import { waitFor } from "../harness/wait-for.ts";
import {
  addApp,
  advance,
  DAY_MS,
  deliveriesOf,
  emit,
  expectQueue,
  HOUR_MS,
  idle,
  MINUTE_MS,
  readEvents,
} from "./webhook-fixture.ts";

let server: TestServer;
let receiver: Receiver;
const log: string[] = [];
beforeAll(async () => {
  server = await startTestServer({ log_destination: { write: (line) => void log.push(line) } });
});
afterAll(async () => {
  await expectQueue(server);
  await server.close();
});
beforeEach(async () => {
  receiver = await startReceiver();
});
afterEach(async () => {
  await server.db.database.query("update apps set deleted_at = created_at");
  await receiver.close();
});

const idOf = (index: number) => receiver.received[index]!.headers["webhook-id"] as string;
const showApp = async (id: string) => (await server.call("GET", `/apps/${id}`)).body.app;

describe("a delivery", () => {
  it("contains the exact bytes of the event, verified by the published libraries", async () => {
    const { webhook_secret } = await addApp(server, { webhook_url: receiver.url });
    const [event] = await emit(server, { sequence: 3 });
    const [got] = await receiver.waitFor(1);
    expect(got!.raw.toString()).toBe(event!.body);
    const headers = got!.headers as Record<string, string>;
    expect(new StandardWebhook(webhook_secret).verify(got!.raw, headers)).toEqual(got!.body);
    const svix = new SvixWebhook(webhook_secret);
    expect(() => svix.verify(got!.raw, headers)).not.toThrow();
    expect(() => svix.verify(Buffer.concat([got!.raw, Buffer.from(" ")]), headers)).toThrow();
    const hex = createHmac("sha256", webhook_secret).update(got!.raw).digest("hex");
    expect(headers["x-webhook-signature"]).toBe(hex);
    expect(headers["x-webhook-sequence"]).toBe("3");
    expect(headers["content-type"]).toBe("application/json");
    const events = await readEvents(server);
    expect(events.at(-1)).toMatchObject({ id: headers["webhook-id"], body: event!.body });
  });

  it("contains the real time, regardless of the sandbox clock", async () => {
    await addApp(server, { webhook_url: receiver.url });
    await advance(server, 3 * DAY_MS);
    await emit(server, {});
    const [got] = await receiver.waitFor(1);
    const ahead_s = Number(got!.headers["webhook-timestamp"]) - Date.now() / 1000;
    expect(Math.abs(ahead_s)).toBeLessThan(60);
  });

  it("contains custom headers, of which only the names are shown", async () => {
    const made = await server.call("POST", "/apps", {
      app: { name: "A", webhook_url: receiver.url, webhook_headers: { "X-Api-Key": "quiet" } },
    });
    expect(made.text).not.toContain("quiet");
    expect(made.body.app.webhook.headers).toEqual(["x-api-key"]);
    await emit(server, {});
    const [got] = await receiver.waitFor(1);
    expect(got!.headers["x-api-key"]).toBe("quiet");
  });

  it("takes custom headers to no other host, unless they are sent again", async () => {
    const webhook_headers = { "X-Api-Key": "quiet" };
    const made = await server.call("POST", "/apps", {
      app: { name: "A", webhook_url: "http://127.0.0.1:9/hook", webhook_headers },
    });
    const change = async (app: object) =>
      (await server.call("PATCH", `/apps/${made.body.app.id}`, { app })).body.app.webhook.headers;
    expect(await change({ webhook_url: "http://127.0.0.1:9/moved" })).toEqual(["x-api-key"]);
    expect(await change({ webhook_url: receiver.url })).toEqual([]);
    await emit(server, {});
    const [got] = await receiver.waitFor(1);
    expect(got!.headers).not.toHaveProperty("x-api-key");
    expect(await change({ webhook_headers })).toEqual(["x-api-key"]);
    expect(await change({ webhook_url: null })).toEqual([]);
    expect(await change({ webhook_url: receiver.url, webhook_headers })).toEqual(["x-api-key"]);
  });

  it("logs every attempt with status, latency and the first 16 kB of the response", async () => {
    await addApp(server, { webhook_url: receiver.url });
    receiver.answer(() => ({ status: 500, body: `oh no ${"x".repeat(20_000)}` }));
    await emit(server, {});
    await receiver.waitFor(1);
    await idle(server);
    receiver.answer(() => ({ status: 201, body: "thanks" }));
    await advance(server, 6_000);
    const [delivery] = await deliveriesOf(server, idOf(0));
    expect(delivery).toMatchObject({ status: "delivered", next_attempt_at: null });
    expect(delivery.attempts).toMatchObject([
      { number: 1, status: 500, error: "The endpoint answered 500." },
      { number: 2, status: 201, error: null, answer: "thanks" },
    ]);
    expect(delivery.attempts[0].answer).toHaveLength(16 * 1024);
    expect(delivery.attempts[0].latency_ms).toBeGreaterThanOrEqual(0);
    const [row] = await server.db.database.query<{ text: string }>(
      "select string_agg(encode(answer, 'escape'), '') as text from webhook_attempts",
    );
    expect(row!.text).not.toContain("thanks");
  });
});

describe("a failing endpoint", () => {
  it("is retried on schedule: nine retries, then the delivery has failed", async () => {
    const app = await addApp(server, { webhook_url: receiver.url });
    receiver.answer(() => 500);
    await emit(server, {});
    await receiver.waitFor(1);
    const steps = [6_000, 6 * MINUTE_MS, 34 * MINUTE_MS, 2.3 * HOUR_MS, 5.6 * HOUR_MS];
    const more = [11.1 * HOUR_MS, 15.5 * HOUR_MS, 22.1 * HOUR_MS, 26.5 * HOUR_MS];
    for (const [index, step_ms] of [...steps, ...more].entries()) {
      await idle(server);
      expect(receiver.received).toHaveLength(index + 1);
      await advance(server, Math.round(step_ms));
    }
    await advance(server, 2 * DAY_MS - HOUR_MS);
    expect(receiver.received).toHaveLength(10);
    const [delivery] = await deliveriesOf(server, idOf(0));
    expect(delivery).toMatchObject({ app_id: app.id, status: "failed", next_attempt_at: null });
    expect(new Set(receiver.received.map((got) => got.headers["webhook-id"])).size).toBe(1);
  });

  it("redirects are failures and are not followed", async () => {
    await addApp(server, { webhook_url: receiver.url });
    receiver.answer(() => ({ status: 302, headers: { location: receiver.url }, body: "moved" }));
    await emit(server, {});
    await receiver.waitFor(1);
    await idle(server);
    expect(receiver.received).toHaveLength(1);
    const [delivery] = await deliveriesOf(server, idOf(0));
    expect(delivery.attempts[0]).toMatchObject({ status: 302, answer: "moved" });
    expect(delivery.status).toBe("pending");
  });

  it("Retry-After lengthens the wait", async () => {
    await addApp(server, { webhook_url: receiver.url });
    receiver.answer(() => ({ status: 429, headers: { "retry-after": "3600" } }));
    await emit(server, {});
    await receiver.waitFor(1);
    await idle(server);
    await advance(server, 59 * MINUTE_MS);
    expect(receiver.received).toHaveLength(1);
    await advance(server, 2 * MINUTE_MS);
    expect(receiver.received).toHaveLength(2);
  });

  it("410 disables it; pending and later deliveries are skipped and can be replayed", async () => {
    const app = await addApp(server, { webhook_url: receiver.url });
    receiver.answer(() => 500);
    await emit(server, {});
    await receiver.waitFor(1);
    receiver.answer(() => 410);
    await emit(server, {});
    await receiver.waitFor(2);
    await idle(server);
    const { webhook } = await showApp(app.id);
    expect(webhook).toMatchObject({ state: "disabled", reason: "The endpoint answered 410 Gone." });
    await emit(server, {});
    await advance(server, DAY_MS);
    expect(receiver.received).toHaveLength(2);
    const last = (await readEvents(server)).at(-1);
    const [skipped] = await deliveriesOf(server, last.id);
    expect(skipped).toMatchObject({ status: "skipped", reason: "The endpoint was disabled." });
    expect((await deliveriesOf(server, idOf(0)))[0].status).toBe("skipped");

    receiver.answer(() => 200);
    const refused = await replay(app.id, { only_failed: true });
    expect(refused.body.error_code).toBe("invalid_transition");
    await server.call("POST", `/apps/${app.id}/resume`);
    await replay(app.id, { only_failed: true });
    await receiver.waitFor(5);
    await idle(server);
    expect(receiver.received).toHaveLength(5);
    expect((await showApp(app.id)).webhook).toMatchObject({ state: "active", reason: null });
  });

  it("is disabled after five days of failures only, recorded in the audit log and the log", async () => {
    const app = await addApp(server, { webhook_url: receiver.url });
    receiver.answer(() => 503);
    await emit(server, {});
    await receiver.waitFor(1);
    await advance(server, 4 * DAY_MS);
    expect((await showApp(app.id)).webhook.state).toBe("active");
    await advance(server, DAY_MS + HOUR_MS);
    await emit(server, {});
    await waitFor(async () => (await showApp(app.id)).webhook.state === "disabled");
    expect((await showApp(app.id)).webhook.reason).toMatch("five days");
    const entries = await server.db.database.query(
      "select * from audit_entries where action = 'app.disable_webhooks' and record = $1",
      [`app:${app.id}`],
    );
    expect(entries).toMatchObject([{ actor: "worker" }]);
    expect(
      log.filter((line) => line.includes("was disabled") && line.includes(app.id)),
    ).toHaveLength(1);
  });

  it("a success in between restarts the five days", async () => {
    const app = await addApp(server, { webhook_url: receiver.url });
    receiver.answer(() => 503);
    await emit(server, {});
    await receiver.waitFor(1);
    await advance(server, 3 * DAY_MS);
    receiver.answer(() => 200);
    await emit(server, {});
    await idle(server);
    receiver.answer(() => 503);
    await emit(server, {});
    await advance(server, 3 * DAY_MS);
    await emit(server, {});
    await idle(server);
    expect((await showApp(app.id)).webhook.state).toBe("active");
  });

  it("is paused after several failures in a row, then tried with one request", async () => {
    const app = await addApp(server, { webhook_url: receiver.url });
    receiver.answer(() => 500);
    await emit(server, ...Array.from({ length: 100 }, () => ({})));
    await receiver.waitFor(5);
    await idle(server);
    const first = receiver.received.length;
    expect(first).toBeLessThan(20);
    expect((await showApp(app.id)).webhook.circuit_until).not.toBeNull();
    await advance(server, 31_000);
    expect(receiver.received.length).toBe(first + 1);
    receiver.answer(() => 200);
    await advance(server, 31 * MINUTE_MS);
    const arrived = new Set(
      receiver.received.filter((got) => got.status === 200).map((got) => got.headers["webhook-id"]),
    );
    expect(arrived.size).toBe(100);
    expect((await showApp(app.id)).webhook).toMatchObject({
      circuit_until: null,
      failing_since: null,
    });
  });
});

describe("order", () => {
  const paid = (record_id: string, note: string) => [
    { record_id, sequence: 1, name: "paid" as const, note },
    { record_id, sequence: 2, name: "c2fPaymentFailed" as const, note },
  ];

  it("a receiver that uses timestamp or sequence handles events out of order correctly", async () => {
    await addApp(server, { webhook_url: receiver.url, is_ordered: false });
    let fails_left = 1;
    receiver.answer(({ body }) => (body.event === "paid" && fails_left-- > 0 ? 500 : 200));
    const record_id = randomUUID();
    for (const event of paid(record_id, "overtaken")) await emit(server, event);
    await receiver.waitFor(2);
    await advance(server, 6_000);
    const arrived = receiver.received.filter((got) => got.status === 200);
    expect(arrived.map((got) => got.body.event)).toEqual(["c2fPaymentFailed", "paid"]);
    const by = (key: (got: (typeof arrived)[number]) => number) =>
      arrived.toSorted((a, b) => key(a) - key(b)).at(-1)!.body.event;
    expect(by((got) => got.body.timestamp)).toBe("c2fPaymentFailed");
    expect(by((got) => Number(got.headers["x-webhook-sequence"]))).toBe("c2fPaymentFailed");
  });

  it("by default a record's order is kept without delaying other records", async () => {
    const app = await addApp(server, { webhook_url: receiver.url });
    expect((await showApp(app.id)).webhook.is_ordered).toBe(true);
    const [stuck, free] = [randomUUID(), randomUUID()];
    let fails_left = 2;
    receiver.answer(({ body }) =>
      body.invoice.id === stuck && body.event === "paid" && fails_left-- > 0 ? 500 : 200,
    );
    await emit(server, ...paid(stuck, "x"), ...paid(free, "y"));
    await receiver.waitFor(3);
    await idle(server);
    const eventsOf = (id: string) =>
      receiver.received
        .filter((got) => got.body.invoice.id === id && got.status === 200)
        .map((got) => got.body.event);
    expect(eventsOf(free)).toEqual(["paid", "c2fPaymentFailed"]);
    expect(eventsOf(stuck)).toEqual([]);
    await advance(server, 6_000);
    expect(eventsOf(stuck)).toEqual([]);
    await advance(server, 6 * MINUTE_MS);
    expect(eventsOf(stuck)).toEqual(["paid", "c2fPaymentFailed"]);
  });
});

describe("an outage of the receiver", () => {
  it("of 72 hours: everything arrives afterwards, and nothing acknowledged is repeated", async () => {
    await addApp(server, { webhook_url: receiver.url });
    receiver.answer(() => 503);
    const ids = Array.from({ length: 4 }, () => randomUUID());
    await emit(server, ...ids.map((record_id) => ({ record_id })));
    await receiver.waitFor(1);
    await advance(server, 36 * HOUR_MS);
    const later = Array.from({ length: 4 }, () => randomUUID());
    await emit(server, ...later.map((record_id) => ({ record_id })));
    await advance(server, 36 * HOUR_MS);
    receiver.answer(() => 200);
    await advance(server, 27 * HOUR_MS);
    const acknowledged = receiver.received.filter((got) => got.status === 200);
    const records = acknowledged.map((got) => got.body.invoice.id).sort();
    expect(records).toEqual([...ids, ...later].sort());
  });
});

describe("pause", () => {
  it("keeps events until the endpoint is resumed", async () => {
    const app = await addApp(server, { webhook_url: receiver.url });
    await server.call("POST", `/apps/${app.id}/pause`);
    await emit(server, {}, {});
    await advance(server, 10 * DAY_MS);
    expect(receiver.received).toHaveLength(0);
    expect((await showApp(app.id)).webhook).toMatchObject({
      state: "paused",
      reason: "Paused by the account.",
    });
    await server.call("POST", `/apps/${app.id}/resume`);
    await receiver.waitFor(2);
  });
});

function replay(app_id: string, body: Record<string, unknown>) {
  return server.call("POST", `/apps/${app_id}/replay`, { from: "2026-01-01T00:00:00Z", ...body });
}
