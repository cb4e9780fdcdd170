import { randomUUID } from "node:crypto";
import { expect } from "vitest";
import { setBillingEmail } from "../../src/accounts/set-billing-email.ts";
import { bodyPlace } from "../../src/events/record-events.ts";
import { open } from "../../src/platform/encryption/cipher.ts";
import { newInvoice } from "../harness/records.ts";
import type { Answer, TestServer } from "../harness/server.ts";
import { good, settle } from "../offramps/story.ts";

export type Json = Record<string, unknown>;

/** An account with a billing address of its own. */
export async function addBilledAccount(server: TestServer, name: string) {
  const account = await server.addAccount(`${name} ${randomUUID()}`);
  const email = `billing-${randomUUID()}@example.com`;
  await setEmail(server, account.account_id, email);
  return { ...account, email };
}

export type BilledAccount = Awaited<ReturnType<typeof addBilledAccount>>;

export async function setEmail(server: TestServer, account_id: string, email: string) {
  const { database, clock } = server.core;
  const input = { account_id, email, actor: "command line", reason: "test" } as const;
  await database.transaction((tx) => setBillingEmail(tx, server.core, input, clock.now()));
  await settle(server);
}

export const create = (server: TestServer, more: Json = {}, key?: string): Promise<Answer> =>
  server.call("POST", "/invoices", newInvoice(more), key ? { key } : {});

/** The bank account of the ramp fixtures, as an invoice names it. */
export const BANK_OPTION = {
  type: "bank-account",
  value: { currencies: ["EUR"], paymentInformation: { iban: "DE89 3704 0044 0532 0130 00" } },
};

/**
 * A payable invoice from one account to another, visible to both, that can be paid to the bank
 * account of the ramp fixtures.
 */
export async function sendInvoice(
  server: TestServer,
  seller: { key: string },
  buyer: { email: string },
  more: Json = {},
) {
  const { paymentOptions } = newInvoice();
  const body = {
    buyerInfo: { email: buyer.email },
    convert: true,
    paymentOptions: [...paymentOptions, BANK_OPTION],
    ...more,
  };
  const invoice = good(await create(server, body, seller.key));
  await settle(server);
  return invoice;
}

export const show = async (server: TestServer, id: string, key?: string) =>
  good(await server.call("GET", `/invoices/${id}`, undefined, key ? { key } : {}));

export const change = (
  server: TestServer,
  id: string,
  type: string,
  key?: string,
  input?: Json,
  headers?: Record<string, string>,
): Promise<Answer> =>
  server.call(
    "POST",
    `/invoices/${id}/changes`,
    { type, ...(input ? { input } : {}) },
    { ...(key ? { key } : {}), ...(headers ? { headers } : {}) },
  );

export type StoredEvent = {
  name: string;
  sequence: number;
  role: string;
  change_id: string;
  // biome-ignore lint/suspicious/noExplicitAny: a body is whatever was sent.
  body: any;
};

/** The events of an invoice that an account's applications receive, in order. */
export async function eventsOf(
  server: TestServer,
  account_id: string,
  invoice_id: string,
): Promise<StoredEvent[]> {
  const { database, keyring } = server.core;
  const key = await keyring.openAccount(database, account_id);
  const rows = await database.query<StoredEvent & { id: string; body: Buffer }>(
    `select id, name, sequence, role, change_id, body from events
     where account_id = $1 and record_id = $2 order by sequence`,
    [account_id, invoice_id],
  );
  return rows.map(({ id, body, ...event }) => ({
    ...event,
    body: JSON.parse(open(key, bodyPlace(account_id, id), body).toString()),
  }));
}

export const namesOf = async (server: TestServer, account_id: string, invoice_id: string) =>
  (await eventsOf(server, account_id, invoice_id)).map((event) => event.name);

/** Exactly one problem. */
export function expectProblem(answer: Answer, field: string, code: string): void {
  expect(answer.body.errors, answer.text).toMatchObject([{ field, code }]);
  expect(answer.body.error_code).toBe(code);
}
