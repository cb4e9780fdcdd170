import { randomUUID } from "node:crypto";
import { expect } from "vitest";
import { insertMember, insertPerson, listAccounts } from "../../src/accounts/store.ts";
import { insertAppGrant, updateAppGrantRevoked, updateAppUsed } from "../../src/apps/store.ts";
import type { EventName } from "../../src/events/model.ts";
import {
  type InvoiceAudience,
  type NewEvent,
  recordEvents,
} from "../../src/events/record-events.ts";
import { digestOf } from "../../src/platform/sealing/seal.ts";
import { verifyDeliveries } from "../../src/verify/verify-deliveries.ts";
import type { Answer, TestServer } from "../harness/server.ts";

export type EventInput = {
  account_id?: string;
  name?: EventName;
  record_id?: string;
  sequence?: number;
  invoice?: Partial<InvoiceAudience> | null;
  note?: string;
  /** The person it is about, whose key seals it. */
  subject?: { subject_id: string; key: Buffer };
};

/** An invoice event as the invoices module writes it, sealed with the account's key. */
export async function emit(server: TestServer, ...inputs: EventInput[]): Promise<NewEvent[]> {
  const { database, keyring, clock } = server.core;
  const now = clock.now();
  const owned = inputs.map(({ account_id = server.account_id }) => ({ account_id }));
  const keys = await keyring.openAccounts(database, owned);
  const events = inputs.map((input) => newEvent(input, server.account_id, keys, now));
  await database.transaction(async (tx) => recordEvents(tx, events, now));
  server.app.worker.wake();
  return events;
}

export function newEvent(
  input: EventInput,
  own_account_id: string,
  keys: ReadonlyMap<string, Buffer>,
  now: Date,
): NewEvent {
  const { account_id = own_account_id, name = "create", record_id = randomUUID() } = input;
  const { sequence = 1, invoice = {} } = input;
  const about = { id: record_id, note: input.note ?? "Señor €" };
  const timestamp = now.getTime() + sequence;
  const body = invoice
    ? {
        variant: "svc_invoice",
        event: name,
        timestamp,
        invoice: { ...about, role: invoice.role ?? "seller" },
      }
    : { event: name, timestamp, payload: { offramp: about } };
  return {
    account_id,
    name,
    record_id,
    sequence,
    from_status: null,
    to_status: name,
    facts: digestOf(record_id, sequence),
    subject_id: input.subject?.subject_id ?? null,
    key: input.subject?.key ?? keys.get(account_id)!,
    body: JSON.stringify(body),
    ...(invoice ? { invoice: { ...NOBODY, change_id: randomUUID(), ...invoice } } : {}),
  };
}

const NOBODY = { role: "seller", app_id: null, counterpart_account_id: null } as const;

export type AppSettings = Record<string, unknown>;

export type MadeApp = { id: string; client_secret: string; webhook_secret: string };

/** An application created through the API. */
export async function addApp(
  server: TestServer,
  settings: AppSettings,
  key = server.key,
): Promise<MadeApp> {
  const made = await server.call("POST", "/apps", { app: { name: "Test", ...settings } }, { key });
  if (made.status !== 200) throw new Error(made.text);
  const { app, client_secret, webhook_secret } = made.body;
  return { id: app.id, client_secret, webhook_secret };
}

/** Moves the sandbox clock; returns when everything due is done. */
export async function advance(server: TestServer, advance_ms: number): Promise<Answer> {
  const moved = await server.call("POST", "/sandbox/clock", { advance_ms });
  if (!moved.body.clock.idle) throw new Error("work was left over");
  return moved;
}

export async function idle(server: TestServer): Promise<void> {
  await advance(server, 0);
}

export async function deliveriesOf(server: TestServer, event_id: string, key = server.key) {
  const path = `/webhook_events/${event_id}/deliveries`;
  return (await server.call("GET", path, undefined, { key })).body.deliveries;
}

/** All events of the account, read like a poller. */
export async function readEvents(server: TestServer, key = server.key, limit = 100) {
  // biome-ignore lint/suspicious/noExplicitAny: whatever the server sent.
  const events: any[] = [];
  for (;;) {
    const after = events.length > 0 ? `&starting_after=${events.at(-1).id}` : "";
    const path = `/webhook_events?limit=${limit}${after}`;
    const { body } = await server.call("GET", path, undefined, { key });
    events.push(...body.webhook_events);
    if (!body.has_more) return events;
  }
}

/** The first API call with one of the application's tokens. */
export async function use(server: TestServer, app_id: string): Promise<void> {
  const { database, clock } = server.core;
  const app = { account_id: server.account_id, id: app_id };
  await database.transaction(async (tx) => updateAppUsed(tx, app, clock.now()));
}

/** A new member of the account consents. */
export async function authorise(
  server: TestServer,
  app_id: string,
  account_id: string,
): Promise<string> {
  const { database, clock } = server.core;
  const person_id = randomUUID();
  const now = clock.now();
  const email = Buffer.from(person_id);
  const person = {
    id: person_id,
    email_index: email,
    email,
    password_hash: "",
    factor_reset_at: null,
  };
  const member = { account_id, person_id, role: "admin", votes_from: null } as const;
  await database.transaction(async (tx) => {
    insertPerson(tx, { ...person, created_at: now });
    insertMember(tx, { ...member, created_at: now, joined_at: now });
  });
  const redirect_uri = "https://client.example.test/callback";
  const grant = { account_id, app_id, app_account_id: server.account_id, person_id, redirect_uri };
  await database.transaction(async (tx) => insertAppGrant(tx, { ...grant, created_at: now }));
  return person_id;
}

export async function revoke(
  server: TestServer,
  app_id: string,
  account_id: string,
  person_id: string,
): Promise<void> {
  const { database, clock } = server.core;
  const grant = { account_id, app_id, person_id };
  await database.transaction(async (tx) => updateAppGrantRevoked(tx, grant, clock.now()));
}

/** Checks that the queue contains exactly the pending deliveries. */
export async function expectQueue(server: TestServer): Promise<void> {
  const { database } = server.db;
  for (const { id } of await listAccounts(database)) {
    expect(await verifyDeliveries(database, id)).toBeNull();
  }
}

export const MINUTE_MS = 60_000;
export const HOUR_MS = 60 * MINUTE_MS;
export const DAY_MS = 24 * HOUR_MS;
