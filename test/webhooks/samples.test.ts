import type { WebhookEvent } from "@sliproad/sdk";
import { afterAll, beforeAll, expect, it } from "vitest";
import { RAMP_EVENTS } from "../../src/events/model.ts";
import { type Receiver, startReceiver } from "../harness/receiver.ts";
import { createRecords, newInvoice } from "../harness/records.ts";
import { startTestServer, type TestServer } from "../harness/server.ts";
import { good } from "../offramps/story.ts";
import { openOnramp } from "../onramps/story.ts";
import { addApp, idle } from "./webhook-fixture.ts";

// The type: every event that the service sends is one that the SDK describes.
const EVENTS: readonly WebhookEvent["event"][] = RAMP_EVENTS;

let server: TestServer;
let receiver: Receiver;
beforeAll(async () => {
  [server, receiver] = await Promise.all([startTestServer(), startReceiver()]);
});
afterAll(async () => {
  await receiver?.close();
  await server?.close();
});

/** The names of all fields, at any depth; the content of lists and metadata is not compared. */
function fieldsOf(value: unknown, path = ""): string[] {
  if (typeof value !== "object" || value === null || Array.isArray(value)) return [path];
  return Object.entries(value).flatMap(([name, inner]) => fieldsOf(inner, `${path}.${name}`));
}

it("a sample has exactly the fields of the real event", async () => {
  await addApp(server, { webhook_url: receiver.url, events: EVENTS });
  // The real events, as they occur.
  const ids = await createRecords(server, server.key);
  const user = `/users/${ids.user_id}`;
  await server.call("PATCH", `/sandbox${user}/kycs`, { kyc: { status: "approved" } });
  await server.call("PATCH", `${user}/payment_details/${ids.payment_detail_id}/deactivate`);
  await openOnramp(server);
  good(await server.call("POST", "/invoices", newInvoice({ convert: true })));
  await idle(server);
  const real = new Map(receiver.received.map(({ body }) => [body.event, body]));
  receiver.received.length = 0;
  for (const webhook_type of [...EVENTS, "create"]) {
    good(await server.call("POST", "/sandbox/webhook", { webhook_type }));
  }
  await idle(server);
  const samples = new Map(receiver.received.map(({ body }) => [body.event, body]));
  expect([...samples.keys()].sort()).toEqual([...EVENTS, "create"].sort());
  for (const [event, sample] of samples) {
    const [wanted, given] = [fieldsOf(real.get(event)), fieldsOf(sample)];
    // The known data of a person varies; it is not a field of the record itself.
    const isRecord = (field: string) =>
      !/Info\.|paymentTerms|supporting_document|metadata/.test(field);
    expect(given.filter(isRecord).sort(), event).toEqual(wanted.filter(isRecord).sort());
  }
});
