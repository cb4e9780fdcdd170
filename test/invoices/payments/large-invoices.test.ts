import { setTimeout as sleep } from "node:timers/promises";
import { afterAll, beforeAll, expect, it } from "vitest";
import {
  listNamedAccounts,
  weighNamedAccounts,
} from "../../../src/invoices/payments/named-accounts.ts";
import { findPayables } from "../../../src/invoices/payments/payments.ts";
import type { Session } from "../../../src/platform/db/database.ts";
import { newInvoice } from "../../harness/records.ts";
import { startTestServer, type TestServer } from "../../harness/server.ts";
import { good, settle } from "../../offramps/story.ts";
import {
  addBilledAccount,
  BANK_OPTION,
  type BilledAccount,
  change,
  create,
  setEmail,
} from "../invoice-fixture.ts";

const COUNT = 12;
/** 600 KB in UTF-8. */
const ITEMS = Array.from({ length: 500 }, () => ({
  ...{ name: "界".repeat(400), currency: "EUR" },
  ...{ quantity: 1, unitPrice: "100" },
}));

let server: TestServer;
let seller: BilledAccount;
let buyer: BilledAccount;
let ids: string[];
beforeAll(async () => {
  server = await startTestServer();
  seller = await addBilledAccount(server, "Seller");
  buyer = await addBilledAccount(server, "Buyer");
  const { paymentOptions } = newInvoice();
  const body = {
    ...{ invoiceItems: ITEMS, buyerInfo: { email: buyer.email }, convert: true },
    paymentOptions: [...paymentOptions, BANK_OPTION],
  };
  ids = [];
  for (let at = 0; at < COUNT; at += 1) ids.push(good(await create(server, body, seller.key)).id);
  await settle(server);
});
afterAll(() => server.close());

/** Notes how many bytes of invoices each statement answers. */
function noting(session: Session) {
  const read: number[] = [];
  const query = async (text: string, values?: readonly unknown[]) => {
    const rows = await session.query<{ document?: Buffer }>(text, values);
    const bytes = rows.reduce((sum, row) => sum + (row.document?.length ?? 0), 0);
    if (bytes > 0) read.push(bytes);
    return rows;
  };
  return { session: { ...session, query: query as Session["query"] }, read };
}

it("large invoices that one request names are opened a few at a time", async () => {
  const keys = ids.map((id) => ({ account_id: buyer.account_id, id }));
  const { database, keyring } = server.core;
  const { named, weights, read } = await database.transaction(async (tx) => {
    const noted = noting(tx);
    const named = await listNamedAccounts(noted.session, keyring, keys);
    return { named, weights: await weighNamedAccounts(tx, keys), read: noted.read };
  });
  const sum = (values: readonly number[]) => values.reduce((all, value) => all + value, 0);
  expect(ids.every((id) => named.get(buyer.account_id, id)!.length > 0)).toBe(true);
  expect(sum(read)).toBeGreaterThan(COUNT * 500_000);
  expect(Math.max(...read)).toBeLessThanOrEqual(2_000_000);
  expect(sum(ids.map((id) => weights.get(buyer.account_id, id)!))).toBe(sum(read));
});

it("to pay invoices, none of their documents is read", async () => {
  const keys = ids.map((id) => ({ account_id: buyer.account_id, id }));
  const { session, read } = noting(server.core.database);
  const payables = await findPayables(session, keys);
  expect(ids.map((id) => payables.get(buyer.account_id, id)?.status)).toEqual(
    ids.map(() => "open"),
  );
  expect(read).toEqual([]);
});

/** Notes how many bytes of invoices each transaction reads, while `work` runs. */
async function readWhile(wait_ms: number, work: () => Promise<void>): Promise<number[]> {
  const { database } = server.core;
  const read: number[] = [];
  const begin = database.transaction;
  database.transaction = async (inner, options) => {
    await sleep(wait_ms);
    return begin((tx) => {
      const noted = noting(tx);
      return Promise.resolve(inner({ ...tx, query: noted.session.query })).finally(() => {
        read.push(noted.read.reduce((all, bytes) => all + bytes, 0));
      });
    }, options);
  };
  try {
    await work();
  } finally {
    database.transaction = begin;
  }
  return read;
}

it("changes of large invoices that are refused are loaded a few at a time", async () => {
  // The first sets are small; the rest of the requests arrives while they wait.
  const read = await readWhile(500, async () => {
    const answers = await Promise.all(
      [...ids, ...ids].map((id) => change(server, id, "markUnpaid", seller.key)),
    );
    expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([422]));
  });
  expect(Math.max(...read)).toBeGreaterThan(0);
  expect(Math.max(...read)).toBeLessThan(5_000_000);
});

it("an account that sets its billing address gets large invoices a few at a time", async () => {
  const email = "set-later@example.com";
  for (let at = 0; at < 5; at += 1) {
    const body = { invoiceItems: ITEMS, buyerInfo: { email }, convert: true };
    good(await create(server, body, seller.key));
  }
  await settle(server);
  const { account_id, key } = await server.addAccount("Later buyer");
  const read = await readWhile(0, () => setEmail(server, account_id, email));
  const { body } = await server.call("GET", "/invoices", undefined, { key });
  expect(body.invoices ?? body).toHaveLength(5);
  expect(Math.max(...read)).toBeGreaterThan(0);
  expect(Math.max(...read)).toBeLessThanOrEqual(2_000_000);
});
