import { randomUUID } from "node:crypto";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { addApprovedUser, addPaymentDetail, addQuote, execute } from "../harness/ramp.ts";
import { type Answer, startTestServer, type TestServer } from "../harness/server.ts";
import { findFault, good, settle } from "../offramps/story.ts";
import {
  addBilledAccount,
  type BilledAccount,
  change,
  create,
  eventsOf,
  namesOf,
  sendInvoice,
  setEmail,
  show,
} from "./invoice-room.ts";

let server: TestServer;
let seller: BilledAccount;
/** The first account pays: the helpers of ramps use its key. */
const payer = { email: `payer-${randomUUID()}@example.com` };
let user_id: string;
let payment_detail_id: string;
beforeAll(async () => {
  server = await startTestServer({ environment: { SLIPROAD_DOCUMENTS: "never" } });
  seller = await addBilledAccount(server, "Seller");
  await setEmail(server, server.account_id, payer.email);
  user_id = await addApprovedUser(server);
  payment_detail_id = await addPaymentDetail(server, user_id, "eur");
});
afterAll(async () => {
  expect(await findFault(server)).toBeNull();
  await server.close();
});

const bill = (more = {}) => sendInvoice(server, seller, payer, more);

type Payment = { amount?: number; currency?: string; outcome?: string };

async function pay(invoice_id: unknown, { amount = 1000, outcome, ...more }: Payment = {}) {
  const quote_id = await addQuote(server, user_id);
  const answer = await server.call("POST", `/users/${user_id}/quotes/${quote_id}/offramps`, {
    offramps: [
      {
        payment_detail_id,
        destination_amount: amount,
        destination_currency: more.currency ?? "eur",
        invoice_id,
        ...(outcome ? { metadata: { sandbox_outcome: outcome } } : {}),
      },
    ],
  });
  return { answer, quote_id, offramp: answer.body.offramps?.[0] };
}

const PAID = ["declareSentPayment", "declareReceivedPayment", "paid"];

async function payOut(invoice_id: string, payment: Payment = {}) {
  const { answer, quote_id, offramp } = await pay(invoice_id, payment);
  good(answer);
  good(await execute(server, user_id, quote_id));
  await settle(server);
  await server.call("POST", "/sandbox/clock", { advance_ms: 3_000 });
  await settle(server);
  return offramp;
}

function expectInvoiceProblem(answer: Answer, code: string, status = 422): void {
  expect(answer.body.errors, answer.text).toMatchObject([
    { field: "offramps[0].invoice_id", code },
  ]);
  expect(answer.status).toBe(status);
}

describe("an offramp with an invoice_id", () => {
  it("pays the invoice: sent with the deposit, received and paid with the payout", async () => {
    const invoice = await bill();
    const offramp = await payOut(invoice.id);
    expect(offramp.invoice_id).toBe(invoice.id);
    const paid = await show(server, invoice.id, seller.key);
    expect(paid).toMatchObject({
      status: "paid",
      requestId: invoice.requestId,
      paymentMetadata: { isManuallyPaid: false },
    });
    for (const account_id of [seller.account_id, server.account_id]) {
      const events = await eventsOf(server, account_id, invoice.id);
      expect(events.map((event) => event.name)).toEqual(["create", ...PAID]);
      const times = events.map((event) => event.body.timestamp);
      expect(times).toEqual([...new Set(times)].sort((a, b) => a - b));
      expect(events.at(-1)!.body.invoice.status).toBe("paid");
    }
  });

  it("declares the payment sent as soon as the deposit is confirmed", async () => {
    const invoice = await bill();
    const { quote_id, offramp } = await pay(invoice.id, { outcome: "stuck" });
    expect((await show(server, invoice.id)).status).toBe("open");
    good(await execute(server, user_id, quote_id));
    await settle(server);
    expect((await show(server, invoice.id, seller.key)).status).toBe("declaredPaid");
    const path = `/sandbox/offramps/${offramp.id}`;
    good(await server.call("PATCH", path, { offramp: { status: "fiat_sent" } }));
    await settle(server);
    expect((await show(server, invoice.id, seller.key)).status).toBe("paid");
  });

  it("is shown without invoice_id where it pays none", async () => {
    const { offramp } = await pay(undefined);
    expect(offramp).not.toHaveProperty("invoice_id");
  });

  it("that bounces gives the invoice a new requestId, and the old one still finds it", async () => {
    const invoice = await bill();
    const offramp = await payOut(invoice.id, { outcome: "bounced" });
    const failed = await show(server, invoice.id, seller.key);
    expect(failed).toMatchObject({ id: invoice.id, status: "open", paymentMetadata: {} });
    expect(failed.requestId).toMatch(/^01[0-9a-f]{64}$/);
    expect(failed.requestId).not.toBe(invoice.requestId);
    for (const key of [seller.key, server.key]) {
      expect((await show(server, invoice.requestId, key)).id).toBe(invoice.id);
      expect((await show(server, failed.requestId, key)).id).toBe(invoice.id);
    }
    const told = ["create", ...PAID, "c2fPaymentFailed"];
    expect(await namesOf(server, seller.account_id, invoice.id)).toEqual(told);
    const events = await eventsOf(server, server.account_id, invoice.id);
    expect(events.map((event) => event.name)).toEqual(told);
    expect(events.map((event) => event.body.invoice.requestId)).toEqual([
      ...Array(4).fill(invoice.requestId),
      failed.requestId,
    ]);

    // Still the one that pays it: another is refused until it is given up.
    expectInvoiceProblem((await pay(invoice.id)).answer, "record_not_unique");
    const detail = await addPaymentDetail(server, user_id, "eur");
    const reroute = { offramp: { payment_detail_id: detail } };
    const path = `/users/${user_id}/offramps/${offramp.id}`;
    good(await server.call("POST", `${path}/reroute`, reroute));
    good(
      await server.call("PATCH", `/sandbox/offramps/${offramp.id}`, {
        offramp: { status: "fiat_sent" },
      }),
    );
    await settle(server);
    const again = await eventsOf(server, seller.account_id, invoice.id);
    const after = again.slice(told.length);
    expect(after.slice(0, 3).map((event) => event.name)).toEqual(PAID);
    expect(new Set(after.map((event) => event.body.invoice.requestId)).size).toBeGreaterThan(0);
    expect(after[0]!.body.invoice.requestId).toBe(failed.requestId);
  });

  it("returns an accepted invoice to accepted", async () => {
    const invoice = await bill();
    good(await change(server, invoice.id, "accept"));
    await payOut(invoice.id, { outcome: "bounced" });
    expect((await show(server, invoice.id)).status).toBe("accepted");
  });

  it("that fails after the deposit lets another pay it, under the new requestId", async () => {
    const invoice = await bill();
    await payOut(invoice.id, { outcome: "failed" });
    const told = ["create", "declareSentPayment", "c2fPaymentFailed"];
    expect(await namesOf(server, seller.account_id, invoice.id)).toEqual(told);
    await payOut(invoice.id);
    expect((await show(server, invoice.id)).status).toBe("paid");
    expect(await namesOf(server, seller.account_id, invoice.id)).toEqual([...told, ...PAID]);
  });

  it("that bounced and is given up says so once, and then another may pay", async () => {
    const invoice = await bill();
    const offramp = await payOut(invoice.id, { outcome: "bounced" });
    good(await server.call("POST", `/users/${user_id}/offramps/${offramp.id}/refund`));
    await settle(server);
    const names = await namesOf(server, seller.account_id, invoice.id);
    expect(names.filter((name) => name === "c2fPaymentFailed")).toHaveLength(1);
    good((await pay(invoice.id)).answer);
  });

  it("that was never paid leaves the invoice alone and frees it", async () => {
    const invoice = await bill();
    const { offramp } = await pay(invoice.id);
    good(
      await server.call("PATCH", `/sandbox/offramps/${offramp.id}`, {
        offramp: { status: "failed" },
      }),
    );
    await settle(server);
    expect(await namesOf(server, seller.account_id, invoice.id)).toEqual(["create"]);
    good((await pay(invoice.id)).answer);
  });

  it("pays a salary of the account itself", async () => {
    const salary = { meta: { format: "svc_salary" }, sellerInfo: { email: "eva@example.com" } };
    const invoice = good(await create(server, { ...salary, convert: true }));
    await payOut(invoice.id);
    const [last] = (await eventsOf(server, server.account_id, invoice.id)).slice(-1);
    expect(last!.body).toMatchObject({ variant: "svc_salary", event: "paid" });
    expect((await show(server, invoice.id)).status).toBe("paid");
  });

  it("may pay anew what was marked unpaid, and a late return of the first changes nothing", async () => {
    const invoice = await bill();
    const first = await payOut(invoice.id);
    good(await change(server, invoice.id, "markUnpaid", seller.key));
    await settle(server);
    await payOut(invoice.id);
    const names = ["create", ...PAID, ...PAID];
    expect(await namesOf(server, seller.account_id, invoice.id)).toEqual(names);
    const path = `/sandbox/offramps/${first.id}`;
    good(await server.call("PATCH", path, { offramp: { status: "bounced" } }));
    await settle(server);
    expect(await namesOf(server, seller.account_id, invoice.id)).toEqual(names);
    expect((await show(server, invoice.id)).status).toBe("paid");
  });
});

describe("what an offramp cannot pay", () => {
  it("is an invoice that this account does not see as its buyer: 404", async () => {
    const other = await addBilledAccount(server, "Other");
    const foreign = await sendInvoice(server, seller, other);
    const own = good(await create(server, { convert: true }));
    for (const id of [foreign.id, own.id, randomUUID()]) {
      expectInvoiceProblem((await pay(id)).answer, "record_not_found", 404);
    }
    expectInvoiceProblem((await pay("nonsense")).answer, "record_invalid");
  });

  it("is one of another amount or currency, or one that is not open", async () => {
    const invoice = await bill();
    expectInvoiceProblem((await pay(invoice.id, { amount: 999 })).answer, "record_invalid");
    const usd = await bill({
      invoiceItems: [{ currency: "USD", quantity: 1, unitPrice: "100000" }],
    });
    expectInvoiceProblem((await pay(usd.id)).answer, "record_invalid");
    good(await change(server, invoice.id, "cancel", seller.key));
    expectInvoiceProblem((await pay(invoice.id)).answer, "record_invalid");
  });

  it("is one that another offramp pays, in the same request or at the same time", async () => {
    const twice = await bill();
    const quote_id = await addQuote(server, user_id);
    const item = {
      payment_detail_id,
      destination_amount: 1000,
      destination_currency: "eur",
      invoice_id: twice.id,
    };
    const path = `/users/${user_id}/quotes/${quote_id}/offramps`;
    const answer = await server.call("POST", path, { offramps: [item, item] });
    expect(answer.body.errors).toMatchObject([
      { field: "offramps[1].invoice_id", code: "record_not_unique" },
    ]);
    const answers = await Promise.all(Array.from({ length: 20 }, () => pay(twice.id)));
    const made = answers.filter(({ answer: { status } }) => status === 200);
    expect(made).toHaveLength(1);
  });

  it("changes nothing about an invoice that was canceled after the offramp was made", async () => {
    const invoice = await bill();
    const { quote_id } = await pay(invoice.id);
    good(await change(server, invoice.id, "cancel", seller.key));
    good(await execute(server, user_id, quote_id));
    await settle(server);
    expect((await show(server, invoice.id)).status).toBe("canceled");
    expect(await namesOf(server, seller.account_id, invoice.id)).toEqual(["create", "cancel"]);
  });
});
