import { afterAll, beforeAll, expect, it } from "vitest";
import { DAY_MS } from "../../src/platform/durations.ts";
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
