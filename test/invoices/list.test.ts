import { afterAll, beforeAll, expect, it } from "vitest";
import { listViews, type ViewFilter } from "../../src/invoices/counterparty/view-store.ts";
import type { Transaction } from "../../src/platform/db/database.ts";
import { DAY_MS } from "../../src/platform/durations.ts";
import { LAST_ID } from "../../src/platform/ids.ts";
import { startTestServer, type TestServer } from "../harness/server.ts";
import { advance, findFault, good, settle } from "../offramps/story.ts";
import {
  addBilledAccount,
  type BilledAccount,
  change,
  create,
  expectProblem,
  type Json,
} from "./invoice-fixture.ts";

let server: TestServer;
let account: BilledAccount;
let other: BilledAccount;
const ids: Record<string, string> = {};
beforeAll(async () => {
  server = await startTestServer();
  account = await addBilledAccount(server, "Lister");
  other = await addBilledAccount(server, "Other");
  const due = new Date(server.core.clock.now().getTime() + DAY_MS).toISOString();
  await add("draft", { tags: ["Blue"] });
  await add("open", {
    convert: true,
    invoiceNumber: "INV-77/a",
    creationDate: "2025-06-15",
    paymentTerms: { dueDate: due },
    buyerInfo: { email: "zoe@example.org", businessName: "Zoë Widgets GmbH" },
  });
  await add("paid", { convert: true, paymentTerms: { dueDate: due } });
  await add("salary", {
    convert: true,
    meta: { format: "svc_salary" },
    sellerInfo: { email: "eva@example.org" },
  });
  await add("received", { convert: true, buyerInfo: { email: account.email } }, other.key);
  await settle(server);
  good(await change(server, ids.paid!, "declareReceivedPayment", account.key));
});
afterAll(async () => {
  expect(await findFault(server)).toBeNull();
  await server.close();
});

it.each([
  ["filterBy", { role: "buyer" }],
  ["variant", { format: "svc_salary" }],
  ["creationDateRange", { created_to: new Date(0) }],
  ["updatedSince", { updated_since: new Date(Date.UTC(2100, 0, 1)) }],
] as const)("a page of ?%s reads none of many other invoices", async (_name, wanted) => {
  const everything = { statuses: [], overdue_at: null, role: null, format: null, words: [] };
  const times = { created_from: null, created_to: null, updated_since: null };
  const filter = { ...everything, ...times, ...wanted } as ViewFilter;
  const page = { below_id: LAST_ID, skip: 0, limit: 25 };
  const { account_id } = other;
  const undone = server.core.database.transaction(async (tx) => {
    await tx.query(
      `insert into invoice_views (account_id, id, owner_account_id, role, format, status,
         creation_date, sequence, updated_at)
       select $1, gen_random_uuid(), $1, 'seller', 'svc_invoice', 'paid', $2, 1, $2
       from generate_series(1, 2000)`,
      [account_id, new Date()],
    );
    await tx.query("analyze invoice_views");
    const before = await readSoFar(tx);
    expect(await listViews(tx, account_id, filter, page)).toEqual([]);
    expect((await readSoFar(tx)) - before).toBeLessThan(10);
    throw new Error("undone");
  });
  await expect(undone).rejects.toThrow("undone");
});

async function readSoFar(tx: Transaction): Promise<number> {
  const [row] = await tx.query<{ read: number }>(
    `select (seq_tup_read + idx_tup_fetch)::integer as read from pg_stat_xact_user_tables
     where relname = 'invoice_views'`,
  );
  return row!.read;
}

it("ends a page of very large invoices early, and every one is on some page", async () => {
  const { key } = await addBilledAccount(server, "Large");
  const texts = { name: "漢".repeat(200), reference: "字".repeat(100) };
  const item = { ...texts, currency: "USD", quantity: 1, unitPrice: "100" };
  const invoiceItems = Array.from({ length: 500 }, () => item);
  const made: string[] = [];
  for (let count = 0; count < 11; count += 1) {
    made.push(good(await create(server, { invoiceItems }, key)).id);
  }
  const listed: string[] = [];
  let pages = 0;
  for (let has_more = true; has_more; pages += 1) {
    const after = listed.length > 0 ? `&starting_after=${listed.at(-1)}` : "";
    const answer = await server.call("GET", `/invoices?take=100${after}`, undefined, { key });
    expect(Buffer.byteLength(answer.text)).toBeLessThan(4_500_000);
    listed.push(...good(answer).invoices.map(({ id }: { id: string }) => id));
    has_more = answer.body.has_more;
  }
  expect(listed).toEqual(made.toReversed());
  expect(pages).toBeGreaterThan(1);
  const skipped = await server.call("GET", "/invoices?take=100&skip=10", undefined, { key });
  expect(good(skipped).has_more).toBe(false);
});

async function add(name: string, more: Json, key = account.key) {
  ids[name] = good(await create(server, more, key)).id;
}

const query = (text: string) =>
  server.call("GET", `/invoices?${text}`, undefined, { key: account.key });

async function names(text: string): Promise<string[]> {
  const { invoices } = good(await query(text));
  return invoices.map(({ id }: { id: string }) =>
    Object.keys(ids).find((name) => ids[name] === id),
  );
}

const ALL = ["received", "salary", "paid", "open", "draft"];

it("lists own and received invoices, newest first, each with the reader's role", async () => {
  const { invoices, has_more } = good(await query(""));
  expect(invoices.map(({ id }: { id: string }) => id)).toEqual(ALL.map((name) => ids[name]));
  const roles = ["buyer", "buyer", "seller", "seller", "seller"];
  expect(invoices.map(({ role }: { role: string }) => role)).toEqual(roles);
  expect(has_more).toBe(false);
});

it.each([
  ["status[]=open", ["received", "salary", "open"]],
  ["status[]=open&status[]=paid", ["received", "salary", "paid", "open"]],
  ["status=draft", ["draft"]],
  ["status[]=pending", []],
  ["variant=svc_salary", ["salary"]],
  ["filterBy=sent", ["paid", "open", "draft"]],
  ["filterBy=received", ["received", "salary"]],
  [`creationDateRange=${encodeURIComponent('{"from":"2025-06-01","to":"2025-07-01"}')}`, ["open"]],
  [`creationDateRange=${encodeURIComponent('{"from":"2025-07-01"}')}`, ALL.toSpliced(3, 1)],
  [`creationDateRange=${encodeURIComponent('{"to":"2025-06-15"}')}`, ["open"]],
  [`creationDateRange=${encodeURIComponent('{"to":"2025-06-14"}')}`, []],
  ["search=inv-77/a", ["open"]],
  ["search=77", ["open"]],
  ["search=zo%C3%AB%20widgets", ["open"]],
  ["search=zoe@example.org", ["open"]],
  ["search=BLUE", ["draft"]],
  ["search=widgets%20blue", []],
  ["take=2", ["received", "salary"]],
  ["take=2&skip=2", ["paid", "open"]],
  ["status[]=overdue", []],
])("?%s", async (text, expected) => {
  expect(await names(text)).toEqual(expected);
});

it("continues after a record, and says whether there is more", async () => {
  const first = good(await query("take=2"));
  expect(first.has_more).toBe(true);
  expect(await names(`take=2&starting_after=${ids.salary}`)).toEqual(["paid", "open"]);
  expect(good(await query(`take=2&starting_after=${ids.open}`)).has_more).toBe(false);
});

it("finds what changed since a time", async () => {
  const since = server.core.clock.now();
  await advance(server, 1_000);
  expect(await names(`updatedSince=${since.toISOString()}`)).toEqual([]);
  good(await change(server, ids.salary!, "accept", account.key));
  expect(await names(`updatedSince=${since.toISOString()}`)).toEqual(["salary"]);
});

it("derives overdue: unpaid past the due date", async () => {
  await advance(server, DAY_MS);
  expect(await names("status[]=overdue")).toEqual(["open"]);
  expect(await names("status[]=overdue&status[]=draft")).toEqual(["open", "draft"]);
});

it.each([
  ["take=101", "take"],
  ["take=0", "take"],
  ["skip=10001", "skip"],
  ["starting_after=x", "starting_after"],
  ["status[]=sent", "status[]"],
  ["creationDateRange=2025", "creationDateRange"],
  ["creationDateRange=[]", "creationDateRange"],
  ["creationDateRange=null", "creationDateRange"],
  [`creationDateRange=${encodeURIComponent('{"from":"June"}')}`, "creationDateRange.from"],
  ["updatedSince=yesterday", "updatedSince"],
  ["variant=rnf_invoice", "variant"],
  ["filterBy=all", "filterBy"],
])("refuses ?%s", async (text, field) => {
  expectProblem(await query(text), field, "record_invalid");
});

it("reports a mistyped filter with the nearest one", async () => {
  const answer = await query("serch=x");
  expectProblem(answer, "serch", "parameter_unknown");
  expect(answer.text).toContain("Did you mean search?");
});
