import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { createApiKey } from "../../src/accounts/create-api-key.ts";
import type { KeyScope } from "../../src/accounts/key-scopes.ts";
import { makeApiKey, type Role } from "../../src/accounts/model.ts";
import { UNRESTRICTED } from "../../src/accounts/restrict-key.ts";
import { makeToken } from "../../src/accounts/sign-in/sessions.ts";
import { createLinkLimits } from "../../src/invoices/link-limits.ts";
import type { Refusal } from "../../src/platform/errors.ts";
import { signInMember } from "../dashboard/dashboard-server.ts";
import { HttpVisitor } from "../harness/http-visitor.ts";
import { startTestServer, type TestServer } from "../harness/server.ts";
import { findFault, good } from "../offramps/story.ts";
import {
  addBilledAccount,
  change,
  create,
  eventsOf,
  namesOf,
  sendInvoice,
  show,
} from "./invoice-fixture.ts";

let server: TestServer;
beforeAll(async () => {
  server = await startTestServer();
});
afterAll(async () => {
  expect(await findFault(server)).toBeNull();
  await server.close();
});

function codeOf(work: () => void): string | null {
  try {
    work();
    return null;
  } catch (error) {
    return (error as Refusal).code;
  }
}

type Visit = { id: string; path: string; visitor: HttpVisitor };

/** A party without an account who received the link of an invoice. */
async function visit(more = {}): Promise<Visit> {
  const invoice = good(await create(server, { convert: true, note: "<b>Thanks</b>", ...more }));
  const path = invoice.invoiceLinks.view.slice(server.url.length);
  return { id: invoice.id, path, visitor: new HttpVisitor(server.app.server) };
}

const statusOf = async ({ id }: Visit) => (await show(server, id)).status;

describe("the page behind invoiceLinks.view", () => {
  it("shows the invoice, does not leak its URL, and changes nothing", async () => {
    const here = await visit();
    const page = await here.visitor.get(here.path);
    expect(page.statusCode).toBe(200);
    expect(page.body).toContain("1,000.00 EUR");
    expect(page.body).toContain("&lt;b&gt;Thanks");
    expect(page.headers).toMatchObject({
      "referrer-policy": "no-referrer",
      "cache-control": "no-store",
      "x-robots-tag": "noindex",
    });
    expect(page.headers["content-security-policy"]).toContain("default-src 'none'");
    expect(await statusOf(here)).toBe("open");
    const paying = await here.visitor.get(`${here.path}?enablePayment=true`);
    expect(paying.statusCode).toBe(200);
    const looked = await fetch(`${server.url}${here.path}`, { method: "HEAD" });
    expect(looked.status).toBe(200);
  });

  it("matches the PDF: amounts without tax, tax, discount, terms, with their line breaks", async () => {
    const item = { name: "Work", currency: "USD", quantity: 2, unitPrice: "9999" };
    const here = await visit({
      invoiceItems: [{ ...item, discount: "98", tax: { type: "percentage", amount: "20" } }],
      ...{ note: "first\nsecond", terms: "No returns" },
      paymentTerms: { dueDate: "2030-01-31", lateFeesPercent: 2, lateFeesFix: "1500" },
    });
    const { body } = await here.visitor.get(here.path);
    for (const shown of [
      ...["Discount 0.98", ">199.00<", "20 %", ">39.80<", "238.80 USD", "first\nsecond"],
      ...['class="lines"', "No returns", "Late fees: 2 % plus 15.00 USD"],
    ]) {
      expect(body).toContain(shown);
    }
  });

  it("limits the requests of one link", async () => {
    const here = await visit();
    const codes: number[] = [];
    for (let at = 0; at < 21; at += 1) {
      codes.push((await here.visitor.get(`${here.path}/pdf`)).statusCode);
    }
    expect(codes.slice(0, 20)).toEqual(Array(20).fill(200));
    const refused = await here.visitor.get(`${here.path}/pdf`);
    expect(refused.statusCode).toBe(429);
    expect(Number(refused.headers["retry-after"])).toBeGreaterThan(0);
  });

  it("counts neither what cannot be a link nor the requests of a refused address", () => {
    const takeAttempt = createLinkLimits();
    const long = "a".repeat(15_000);
    const codesOf = (address: string, token: string, count: number) => {
      const codes = Array.from({ length: count }, () =>
        codeOf(() => takeAttempt(address, token, false)),
      );
      return new Set(codes);
    };
    expect(codesOf("192.0.2.1", long, 300)).toEqual(new Set(["route_not_found"]));
    const token = makeToken();
    expect(codesOf("192.0.2.1", token, 100)).toEqual(new Set(["too_many_requests"]));
    expect(codesOf("192.0.2.2", token, 60)).toEqual(new Set([null]));
  });

  it("leaves others their time while many people open large invoices of one account", async () => {
    const name = "x".repeat(400);
    const item = { name, currency: "USD", quantity: 1, unitPrice: "100" };
    const large = await visit({ invoiceItems: Array(500).fill(item) });
    const other = await server.addAccount("Another seller");
    const own = good(await create(server, {}, other.key));
    let is_done = false;
    const opened = Array.from({ length: 12 }, async (_, at) => {
      const visitor = new HttpVisitor(server.app.server, `203.0.113.${at + 2}`);
      return (await visitor.get(large.path)).statusCode;
    });
    const all = Promise.all(opened).finally(() => {
      is_done = true;
    });
    let answered = 0;
    while (!is_done) {
      good(await server.call("GET", `/invoices/${own.id}`, undefined, { key: other.key }));
      answered += 1;
    }
    expect((await all)[0]).toBe(200);
    // Without turns it is less than one for each page.
    expect(answered).toBeGreaterThan(opened.length * 2);
  });

  it("stores only a hash of the token", async () => {
    const { path } = await visit();
    const token = path.split("/").at(-1)!;
    const rows = await server.db.database.query<{ found: boolean }>(
      `select exists (select from invoice_links where
         position($1::bytea in token_hash) > 0 or encode(token_hash, 'base64') like $2) as found`,
      [Buffer.from(token, "base64url"), `%${token.slice(0, 20)}%`],
    );
    expect(rows[0]!.found).toBe(false);
  });

  it("lets the party accept, then declare that it has paid", async () => {
    const here = await visit();
    await here.visitor.get(here.path);
    const accepted = await here.visitor.post(here.path, { type: "accept" });
    expect(accepted).toMatchObject({ statusCode: 303, headers: { location: here.path } });
    expect(await statusOf(here)).toBe("accepted");
    const page = await here.visitor.get(here.path);
    expect(page.body).not.toContain('value="accept"');
    await here.visitor.post(here.path, { type: "declareSentPayment" });
    expect(await statusOf(here)).toBe("declaredPaid");
    const events = await eventsOf(server, server.account_id, here.id);
    expect(events.map((event) => event.name)).toEqual(["create", "accept", "declareSentPayment"]);
    expect(events[1]!.body.invoice.events[1].userId).toBeNull();
  });

  it("lets it reject with a note, and only with one", async () => {
    const here = await visit();
    await here.visitor.get(here.path);
    const without = await here.visitor.post(here.path, { type: "reject" });
    expect(without.statusCode).toBe(400);
    expect(without.body).toContain('role="alert"');
    expect(await statusOf(here)).toBe("open");
    await here.visitor.post(here.path, { type: "reject", note: "Not ours" });
    const rejected = await show(server, here.id);
    expect(rejected).toMatchObject({ status: "rejected" });
    expect(rejected.events.at(-1)).toMatchObject({ name: "reject", note: "Not ours" });
  });

  it("refuses actions the party may not take, a forged form, and another token", async () => {
    const here = await visit();
    await here.visitor.get(here.path);
    for (const type of ["cancel", "declareReceivedPayment", "markUnpaid", "paid", ""]) {
      const answer = await here.visitor.post(here.path, { type });
      expect(answer.statusCode, type).toBe(422);
    }
    const forged = await here.visitor.post(here.path, { type: "accept", csrf: "x" });
    expect(forged.statusCode).toBe(403);
    expect(await statusOf(here)).toBe("open");
    for (const token of ["x", "A".repeat(43)]) {
      const answer = await here.visitor.get(`/invoices/view/${token}`);
      expect(answer.statusCode).toBe(404);
    }
    const draft = good(await create(server));
    expect(draft.invoiceLinks).toBeNull();
  });

  it("lets an employee neither undo nor declare the payment of a salary", async () => {
    const salary = { meta: { format: "svc_salary" }, sellerInfo: { email: "eva@example.com" } };
    const here = await visit(salary);
    expect((await here.visitor.get(here.path)).body).not.toContain("<form");
    await here.visitor.get((await visit()).path);
    const declared = await here.visitor.post(here.path, { type: "declareReceivedPayment" });
    expect(declared.statusCode).toBe(422);
    const body = { invoice: { status: "paid" } };
    good(await server.call("PATCH", `/sandbox/invoices/${here.id}`, body));
    const undone = await here.visitor.post(here.path, { type: "markUnpaid" });
    expect(undone.statusCode).toBe(422);
    expect(undone.body).toContain("This action is not available");
    expect(await statusOf(here)).toBe("paid");
  });

  it("is shown only to who may change invoices", async () => {
    const { account_id, core } = server;
    const { id } = await visit();
    const linksFor = async (read: (path: string) => Promise<{ invoiceLinks: unknown }>) => {
      const { invoiceLinks } = await read(`/invoices/${id}`);
      return invoiceLinks !== null;
    };
    const byMember = async (role: Role) => {
      const email = `${role}@example.test`;
      const { call } = await signInMember(server, { account_id, role, email });
      return linksFor(async (path) => (await call("GET", path)).json());
    };
    const byKey = async (scopes: KeyScope[]) => {
      const key = makeApiKey(core.index_key, "sandbox", account_id);
      const restrictions = { ...UNRESTRICTED, scopes };
      const by = { actor: "command line", reason: "test" } as const;
      const input = { account_id, name: "scoped", key, restrictions, ...by };
      await core.database.transaction(async (tx) =>
        createApiKey(tx, core.index_key, input, core.clock.now()),
      );
      return linksFor(async (path) => good(await server.call("GET", path, undefined, { key })));
    };
    expect(await byMember("finance_manager")).toBe(true);
    expect(await byMember("accountant")).toBe(false);
    expect(await byMember("approver")).toBe(false);
    expect(await byKey(["read", "invoices"])).toBe(true);
    expect(await byKey(["read"])).toBe(false);
  });

  it("is read-only for a party that has an account", async () => {
    const buyer = await addBilledAccount(server, "Buyer");
    const invoice = await sendInvoice(server, { key: server.key }, buyer);
    const path = invoice.invoiceLinks.view.slice(server.url.length);
    const visitor = new HttpVisitor(server.app.server);
    const page = await visitor.get(path);
    expect(page.body).not.toContain("<form");
    await visitor.get((await visit()).path);
    expect((await visitor.post(path, { type: "accept" })).statusCode).toBe(422);
    expect(await namesOf(server, server.account_id, invoice.id)).toEqual(["create"]);
  });

  it("accepts one of 20 parallel forms", async () => {
    const here = await visit();
    await here.visitor.get(here.path);
    const answers = await Promise.all(
      Array.from({ length: 20 }, () => here.visitor.post(here.path, { type: "accept" })),
    );
    expect(answers.filter((answer) => answer.statusCode === 303)).toHaveLength(1);
  });

  it("serves the PDF, and shows a canceled invoice as canceled", async () => {
    const here = await visit();
    const pdf = await here.visitor.get(`${here.path}/pdf`);
    expect(pdf.rawPayload.subarray(0, 5).toString()).toBe("%PDF-");
    expect(pdf.headers["referrer-policy"]).toBe("no-referrer");
    good(await change(server, here.id, "cancel"));
    const page = await here.visitor.get(here.path);
    expect(page.body).toContain("Canceled");
    expect(page.body).not.toContain("<form");
  });
});
