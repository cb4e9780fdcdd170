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

it("changes of large invoices that are refused are loaded a few at a time", async () => {
  const { database } = server.core;
  const opened: number[] = [];
  const begin = database.transaction;
  database.transaction = async (work, options) => {
    // The first sets are small; the rest of the requests arrives meanwhile.
    await sleep(500);
    return begin((tx) => {
      const noted = noting(tx);
      opened.push(0);
      const at = opened.length - 1;
      return Promise.resolve(work({ ...tx, query: noted.session.query })).finally(() => {
        opened[at] = noted.read.reduce((all, bytes) => all + bytes, 0);
      });
    }, options);
  };
  try {
    const answers = await Promise.all(
      [...ids, ...ids].map((id) => change(server, id, "markUnpaid", seller.key)),
    );
    expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([422]));
  } finally {
    database.transaction = begin;
  }
  expect(Math.max(...opened)).toBeGreaterThan(0);
  expect(Math.max(...opened)).toBeLessThan(5_000_000);
});
