import { randomUUID } from "node:crypto";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { updateAccountEnabled } from "../../src/apps/store.ts";
import { type Receiver, startReceiver } from "../harness/receiver.ts";
import { startTestServer, type TestServer } from "../harness/server.ts";
import {
  addApp,
  advance,
  authorise,
  type EventInput,
  emit,
  expectQueue,
  idle,
  revoke,
  use,
} from "./webhook-fixture.ts";

let server: TestServer;
let receiver: Receiver;
let seller: { account_id: string; key: string };
let buyer: { account_id: string; key: string };
beforeAll(async () => {
  server = await startTestServer();
  seller = { account_id: server.account_id, key: server.key };
  buyer = await server.addAccount("Buyer");
  await enable(buyer.account_id);
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
  await server.db.database.query("delete from app_grants");
  await receiver.close();
});

describe("rule 1: an application not yet used", () => {
  it("is notified of every invoice that its account sends or receives, and of no others", async () => {
    const { account_id } = seller;
    await addApp(server, { webhook_url: `${receiver.url}/unused` });
    await addApp(server, { webhook_url: `${receiver.url}/cc`, flow: "client_credentials" });
    const sent = await change({ account_id, note: "sent" });
    const got = await change({ account_id, note: "received", invoice: { role: "buyer" } });
    await change({ account_id: buyer.account_id, note: "another's" });
    expect(await received("/unused")).toEqual([`${sent} seller`, `${got} buyer`]);
    expect(await received("/cc")).toEqual([`${sent} seller`, `${got} buyer`]);
  });
});

describe("rule 2: an application that reads users' data", () => {
  it("is notified of the invoices of accounts that authorised it, with their role", async () => {
    const app = await addApp(server, { webhook_url: `${receiver.url}/reader` });
    await use(server, app.id);
    const person = await authorise(server, app.id, buyer.account_id);
    await change({ account_id: seller.account_id, note: "its own account never authorised it" });
    const invoice = { role: "buyer", counterpart_account_id: seller.account_id } as const;
    const first = await change({ account_id: buyer.account_id, invoice });
    expect(await received("/reader")).toEqual([`${first} buyer`]);
    await revoke(server, app.id, buyer.account_id, person);
    await change({ account_id: buyer.account_id, invoice });
    expect(await received("/reader")).toEqual([`${first} buyer`]);
  });

  it("is no longer sent or shown data of an account that withdrew its consent", async () => {
    const app = await addApp(server, { webhook_url: `${receiver.url}/reader` });
    await use(server, app.id);
    const person = await authorise(server, app.id, buyer.account_id);
    receiver.answer(() => 500);
    await change({ account_id: buyer.account_id });
    const path = `/webhook_events/${receiver.received[0]!.headers["webhook-id"]}`;
    const shown = async (end = "") => (await server.call("GET", `${path}${end}`)).status;
    expect([await shown(), await shown("/deliveries")]).toEqual([200, 200]);
    await revoke(server, app.id, buyer.account_id, person);
    receiver.answer(() => 200);
    await advance(server, 6_000);
    const found = () =>
      server.db.database.query("select status, reason from webhook_deliveries where app_id = $1", [
        app.id,
      ]);
    const skipped = [{ status: "skipped", reason: "The account withdrew its consent." }];
    expect(await found()).toEqual(skipped);
    expect([await shown(), await shown("/deliveries")]).toEqual([404, 404]);
    expect((await server.call("POST", `${path}/redeliver`, {})).status).toBe(404);
    const from = "2020-01-01T00:00:00Z";
    await server.call("POST", `/apps/${app.id}/replay`, { from, only_failed: true });
    await idle(server);
    expect(await found()).toEqual(skipped);
    expect(receiver.received).toHaveLength(1);
  });

  it("is notified once, as the seller, when both sides authorised it", async () => {
    const app = await addApp(server, { webhook_url: `${receiver.url}/both` });
    await use(server, app.id);
    await authorise(server, app.id, buyer.account_id);
    await authorise(server, app.id, seller.account_id);
    const [change_id, record_id] = [randomUUID(), randomUUID()];
    // The buyer's side first: the side counts, not the order.
    await change({
      account_id: buyer.account_id,
      record_id,
      invoice: { change_id, role: "buyer", counterpart_account_id: seller.account_id },
    });
    await change({
      account_id: seller.account_id,
      record_id,
      invoice: { change_id, role: "seller", counterpart_account_id: buyer.account_id },
    });
    expect(await received("/both")).toEqual([`${record_id} seller`]);
  });
});

describe("rule 3: an application that sends invoices", () => {
  it("is notified of the invoices it created and of no others", async () => {
    const { account_id } = seller;
    const hook = { webhook_url: `${receiver.url}/sender`, flow: "client_credentials" };
    const app = await addApp(server, hook);
    await use(server, app.id);
    await change({ account_id, invoice: { app_id: null } });
    await change({ account_id, invoice: { app_id: randomUUID() } });
    const own = await change({ account_id, invoice: { app_id: app.id } });
    expect(await received("/sender")).toEqual([`${own} seller`]);
  });
});

describe("ramp events", () => {
  it("are sent to the account's applications that subscribed to them", async () => {
    const { account_id } = seller;
    await addApp(server, { webhook_url: `${receiver.url}/ramp`, events: ["offramp_update"] });
    await addApp(server, { webhook_url: `${receiver.url}/invoices` });
    const event = { account_id, name: "offramp_update", invoice: null } as const;
    const record_id = await change(event);
    await change({ ...event, name: "kyc_update" });
    await change({ ...event, account_id: buyer.account_id });
    expect(await received("/ramp")).toEqual([record_id]);
    expect(await received("/invoices")).toEqual([]);
  });

  it("need no consent: a revoked consent changes nothing", async () => {
    const { account_id } = seller;
    const hook = { webhook_url: `${receiver.url}/ramp`, events: ["offramp_update"] };
    const app = await addApp(server, hook);
    await use(server, app.id);
    const person = await authorise(server, app.id, account_id);
    await revoke(server, app.id, account_id, person);
    const record_id = await change({ account_id, name: "offramp_update", invoice: null });
    await change({ account_id });
    expect(await received("/ramp")).toEqual([record_id]);
  });
});

describe("nothing is sent, and the application shows why", () => {
  it("while the account is not enabled", async () => {
    const closed = await server.addAccount(`Closed ${randomUUID()}`);
    const app = await addApp(server, { webhook_url: receiver.url }, closed.key);
    await change({ account_id: closed.account_id });
    expect(await webhookOf(app.id, closed.key)).toMatchObject({
      state: "not_enabled",
      reason: expect.stringContaining("ask the operator"),
    });
    await enable(closed.account_id);
    const record_id = await change({ account_id: closed.account_id });
    expect(await received("")).toEqual([`${record_id} seller`]);
    expect(await webhookOf(app.id, closed.key)).toMatchObject({ state: "active", reason: null });
  });

  it("while the URL or the secret is missing", async () => {
    const app = await addApp(server, { webhook_secret: "a-secret-of-my-own" });
    const incomplete = { state: "incomplete", reason: "Set a webhook URL." };
    expect(await webhookOf(app.id)).toMatchObject(incomplete);
    const bare = await addApp(server, {});
    expect(await webhookOf(bare.id)).toMatchObject({
      state: "incomplete",
      reason: "Set a webhook URL and a webhook secret.",
    });
    await server.call("PATCH", `/apps/${bare.id}`, { app: { webhook_url: receiver.url } });
    expect(await webhookOf(bare.id)).toMatchObject({ reason: "Set a webhook secret." });
    await change({ account_id: seller.account_id });
    expect(receiver.received).toEqual([]);
    const listed = await server.call("GET", "/apps");
    expect(listed.body.apps[0].webhook.reason).toBe("Set a webhook secret.");
    await server.call("POST", `/apps/${bare.id}/rotate_webhook_secret`, {});
    const record_id = await change({ account_id: seller.account_id });
    expect(await received("")).toEqual([`${record_id} seller`]);
  });
});

async function change(input: EventInput): Promise<string> {
  const [event] = await emit(server, input);
  await idle(server);
  return event!.record_id;
}

/** Records with the role sent to the receiver, in the order of arrival. */
async function received(path: string): Promise<string[]> {
  await idle(server);
  return receiver.received
    .filter((got) => got.path === `/hook${path}`)
    .map(({ body }) =>
      body.invoice ? `${body.invoice.id} ${body.invoice.role}` : body.payload.offramp.id,
    );
}

async function webhookOf(app_id: string, key = server.key) {
  return (await server.call("GET", `/apps/${app_id}`, undefined, { key })).body.app.webhook;
}

async function enable(account_id: string): Promise<void> {
  const { database, clock } = server.core;
  await database.transaction(async (tx) => updateAccountEnabled(tx, account_id, clock.now()));
}
