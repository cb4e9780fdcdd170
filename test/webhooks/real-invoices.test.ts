import { createHmac } from "node:crypto";
import { afterAll, beforeAll, beforeEach, expect, it } from "vitest";
import { updateAccountEnabled } from "../../src/apps/store.ts";
import { addMember, letIn, Person, post, REDIRECT_URI } from "../harness/oauth.ts";
import { type Receiver, startReceiver } from "../harness/receiver.ts";
import { startTestServer, type TestServer } from "../harness/server.ts";
import {
  addBilledAccount,
  type BilledAccount,
  change,
  create,
  show,
} from "../invoices/invoice-fixture.ts";
import { good } from "../offramps/story.ts";
import { addApp, advance, idle, type MadeApp } from "./webhook-fixture.ts";

/**
 * Invoices created and changed with OAuth tokens, delivered to a real receiver: each event contains
 * what `GET /invoices/:id` shows to the same application.
 */
let server: TestServer;
let receiver: Receiver;
let buyer: BilledAccount;
type App = MadeApp & { token: string };
let sends: App;
let reads: App;
let unused: MadeApp;

beforeAll(async () => {
  [server, receiver] = await Promise.all([startTestServer(), startReceiver()]);
  const { database, clock } = server.core;
  buyer = await addBilledAccount(server, "Buyers");
  const stranger = await server.addAccount("Strangers");
  for (const { account_id } of [buyer, stranger]) {
    await database.transaction(async (tx) => updateAccountEnabled(tx, account_id, clock.now()));
  }
  const settings = (name: string) => ({ name, webhook_url: `${receiver.url}/${name}` });
  await addApp(server, settings("stranger"), stranger.key);
  unused = await addApp(server, settings("unused"));
  const sending = await addApp(server, { ...settings("sends"), flow: "client_credentials" });
  const sending_client = { id: sending.id, secret: sending.client_secret };
  const fields = { grant_type: "client_credentials", scope: "invoices:read invoices:write" };
  const granted = await post(server, "/oauth/token", sending_client, fields);
  sends = { ...sending, token: granted.body.access_token };
  const reading = await addApp(server, { ...settings("reads"), redirect_uris: [REDIRECT_URI] });
  const person_id = await addMember(server, buyer.account_id, "buyer@example.test");
  const person = await Person.signedIn(server, buyer.account_id, person_id);
  const reading_client = { id: reading.id, secret: reading.client_secret };
  const scope = "invoices:read invoices:write";
  const tokens = await letIn(server, person, reading_client, scope, buyer.account_id);
  reads = { ...reading, token: tokens.access_token };
  // The first successful call: from now on they are used.
  for (const { token } of [sends, reads]) {
    good(await server.call("GET", "/invoices", undefined, { key: token }));
  }
});
beforeEach(() => {
  receiver.received.length = 0;
});
afterAll(async () => {
  await receiver?.close();
  await server?.close();
});

/** The events since the last call, by receiving application. */
async function arrived() {
  await idle(server);
  const taken = receiver.received.splice(0);
  return Object.groupBy(taken, ({ path }) => path.replace("/hook/", ""));
}

const toBuyer = () => ({ buyerInfo: { email: buyer.email }, convert: true });

it("an invoice created with a token is sent to exactly the applications in the rules, as GET shows it", async () => {
  const invoice = good(await create(server, toBuyer(), sends.token));
  const received = await arrived();
  expect(Object.keys(received).sort()).toEqual(["reads", "sends", "unused"]);
  for (const [name, role, key, secret] of [
    ["sends", "seller", sends.token, sends.webhook_secret],
    ["unused", "seller", server.key, unused.webhook_secret],
    ["reads", "buyer", reads.token, reads.webhook_secret],
  ] as const) {
    const got = received[name]!;
    expect(got, name).toHaveLength(1);
    const { body, raw, headers } = got[0]!;
    // An event contains no link that would let its reader act for the other party.
    const shown = { ...(await show(server, invoice.id, key)), invoiceLinks: null };
    const { timestamp } = body;
    const event = { variant: "svc_invoice", event: "create", timestamp, invoice: shown };
    expect(body, name).toEqual(event);
    expect(body.invoice.role).toBe(role);
    const signature = createHmac("sha256", secret).update(raw).digest("hex");
    expect(headers["x-webhook-signature"]).toBe(signature);
  }
});

it("every change by either side's token arrives in order, and shows what GET shows then", async () => {
  const { id } = good(await create(server, toBuyer(), sends.token));
  await arrived();
  const timestamps = new Map<string, number>();
  for (const [type, key, event] of [
    ["accept", reads.token, "accept"],
    ["declareSentPayment", reads.token, "declareSentPayment"],
    ["declareReceivedPayment", sends.token, "declareReceivedPayment"],
  ] as const) {
    good(await change(server, id, type, key));
    const received = await arrived();
    expect(Object.keys(received).sort(), type).toEqual(["reads", "sends", "unused"]);
    for (const [name, token] of [
      ["sends", sends.token],
      ["reads", reads.token],
    ] as const) {
      const got = received[name]!.find(({ body }) => body.event === event)!;
      const last = received[name]!.at(-1)!;
      const shown = { ...(await show(server, id, token)), invoiceLinks: null };
      expect(last.body.invoice, `${name} ${type}`).toEqual(shown);
      expect(got.body.timestamp).toBeGreaterThan(timestamps.get(name) ?? 0);
      timestamps.set(name, last.body.timestamp);
    }
  }
});

it("an invoice sent by the account itself is not sent to an application that sends its own", async () => {
  const { id } = good(await create(server, toBuyer()));
  const received = await arrived();
  expect(Object.keys(received).sort()).toEqual(["reads", "unused"]);
  const shown = { ...(await show(server, id, reads.token)), invoiceLinks: null };
  expect(received.reads![0]!.body.invoice).toEqual(shown);
});

it("an application reset by an admin is notified of all its account's invoices until it is used", async () => {
  const reset = await server.call("POST", `/apps/${sends.id}/reset_used`);
  expect(good(reset).app.used_at).toBeNull();
  good(await create(server, toBuyer()));
  expect(Object.keys(await arrived()).sort()).toEqual(["reads", "sends", "unused"]);
  await advance(server, 0);
  // Recorded again, although this process had recorded its use before.
  await expect
    .poll(
      async () => {
        good(await server.call("GET", "/invoices", undefined, { key: sends.token }));
        return good(await server.call("GET", `/apps/${sends.id}`)).app.used_at;
      },
      { timeout: 5_000 },
    )
    .not.toBeNull();
  good(await create(server, toBuyer()));
  expect(Object.keys(await arrived()).sort()).toEqual(["reads", "unused"]);
});
