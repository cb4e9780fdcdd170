import { randomUUID } from "node:crypto";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { addApprovedUser, addPaymentDetail, addQuote, execute } from "../../harness/ramp.ts";
import { type Answer, startTestServer, type TestServer } from "../../harness/server.ts";
import { findFault, good, settle } from "../../offramps/story.ts";
import {
  addBilledAccount,
  BANK_OPTION,
  type BilledAccount,
  change,
  create,
  eventsOf,
  namesOf,
  sendInvoice,
  setEmail,
  show,
} from "../invoice-fixture.ts";

let server: TestServer;
let seller: BilledAccount;
/** The first account pays: the ramp fixtures use its key. */
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

  it("is shown without invoice_id when it pays none", async () => {
    const { offramp } = await pay(undefined);
    expect(offramp).not.toHaveProperty("invoice_id");
  });

  it("of which one cent comes back leaves the invoice paid, until the rest came back too", async () => {
    const invoice = await bill();
    const offramp = await payOut(invoice.id);
    const giveBack = async (bank_reference: string, cents: bigint) => {
      await server.db.database.query(
        `insert into sandbox_bank_answers
           (account_id, end_to_end_id, bank_reference, kind, amount, currency)
         values ($1, $2, $3, 'returned', $4, 'eur')`,
        [server.account_id, `${offramp.id.replaceAll("-", "")}001`, bank_reference, cents],
      );
      await server.call("POST", "/sandbox/clock", { advance_ms: 3_000 });
      await settle(server);
    };
    await giveBack(`cent-${offramp.id}`, 1n);
    const path = `/users/${user_id}/offramps/${offramp.id}`;
    expect(good(await server.call("GET", path)).offramp.status).toBe("bounced");
    expect((await show(server, invoice.id, seller.key)).status).toBe("paid");
    await giveBack(`rest-${offramp.id}`, 999_99n);
    const { bank_exceptions } = good(await server.call("GET", "/bank_exceptions?status=open"));
    const body = { resolution: "assign", offramp_id: offramp.id, reason: "The rest" };
    good(await server.call("POST", `/bank_exceptions/${bank_exceptions[0].id}/resolve`, body));
    await settle(server);
    expect((await show(server, invoice.id, seller.key)).status).toBe("open");
    const event_names = ["create", ...PAID, "c2fPaymentFailed"];
    expect(await namesOf(server, seller.account_id, invoice.id)).toEqual(event_names);
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
    const event_names = ["create", ...PAID, "c2fPaymentFailed"];
    expect(await namesOf(server, seller.account_id, invoice.id)).toEqual(event_names);
    const events = await eventsOf(server, server.account_id, invoice.id);
    expect(events.map((event) => event.name)).toEqual(event_names);
    expect(events.map((event) => event.body.invoice.requestId)).toEqual([
      ...Array(4).fill(invoice.requestId),
      failed.requestId,
    ]);

    // It still pays the invoice: another offramp is refused until it is given up.
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
    // The sandbox's bank may return this attempt as well: the requested outcome applies to each.
    const after = again.slice(event_names.length, event_names.length + 3);
    expect(after.map((event) => event.name)).toEqual(PAID);
    const request_ids = after.map((event) => event.body.invoice.requestId);
    expect(request_ids).toEqual(Array(3).fill(failed.requestId));
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
    const event_names = ["create", "declareSentPayment", "c2fPaymentFailed"];
    expect(await namesOf(server, seller.account_id, invoice.id)).toEqual(event_names);
    await payOut(invoice.id);
    expect((await show(server, invoice.id)).status).toBe("paid");
    expect(await namesOf(server, seller.account_id, invoice.id)).toEqual([...event_names, ...PAID]);
  });

  it("that bounced and is given up is reported once, and then another may pay", async () => {
    const invoice = await bill();
    const offramp = await payOut(invoice.id, { outcome: "bounced" });
    good(await server.call("POST", `/users/${user_id}/offramps/${offramp.id}/refund`));
    await settle(server);
    const names = await namesOf(server, seller.account_id, invoice.id);
    expect(names.filter((name) => name === "c2fPaymentFailed")).toHaveLength(1);
    good((await pay(invoice.id)).answer);
  });

  it("that is returned again and again ends at a limit, earlier for a large invoice", async () => {
    const items = Array.from({ length: 500 }, () => ({
      ...{ name: "界".repeat(400), currency: "EUR" },
      ...{ quantity: 1, unitPrice: "200" },
    }));
    const invoice = await bill({ invoiceItems: items });
    let rounds = 0;
    for (; rounds < 10; rounds += 1) {
      const { answer, quote_id } = await pay(invoice.id, { outcome: "failed" });
      if (answer.status !== 200) {
        expectInvoiceProblem(answer, "limit_exceeded");
        break;
      }
      good(await execute(server, user_id, quote_id));
      await settle(server);
      await server.call("POST", "/sandbox/clock", { advance_ms: 3_000 });
      await settle(server);
    }
    expect(rounds).toBeGreaterThan(2);
    expect(rounds).toBeLessThan(6);
    // Its parties can still say that it was paid.
    good(await change(server, invoice.id, "declareReceivedPayment", seller.key));
  });

  it("that was never paid leaves the invoice unchanged and releases it", async () => {
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
    const sellerInfo = { email: "eva@example.com" };
    const salary = { meta: { format: "svc_salary" }, sellerInfo, paymentOptions: [BANK_OPTION] };
    const invoice = good(await create(server, { ...salary, convert: true }));
    await payOut(invoice.id);
    const [last] = (await eventsOf(server, server.account_id, invoice.id)).slice(-1);
    expect(last!.body).toMatchObject({ variant: "svc_salary", event: "paid" });
    expect((await show(server, invoice.id)).status).toBe("paid");
  });

  it("may pay again an invoice marked unpaid, and a late return of the first changes nothing", async () => {
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

function expectRefused(answer: Answer, field: string, code: string): void {
  expect(answer.body.errors, answer.text).toMatchObject([{ field, code }]);
  expect(answer.status).toBe(422);
}

async function reroute(offramp_id: string): Promise<Answer> {
  const detail = await addPaymentDetail(server, user_id, "eur");
  return server.call("POST", `/users/${user_id}/offramps/${offramp_id}/reroute`, {
    offramp: { payment_detail_id: detail },
  });
}

async function moveOfframp(id: string, status: string): Promise<Answer> {
  const answer = await server.call("PATCH", `/sandbox/offramps/${id}`, { offramp: { status } });
  await settle(server);
  return answer;
}

/** Paid by an offramp, then marked unpaid by the seller. */
async function billUnpaid() {
  const invoice = await bill();
  const first = await payOut(invoice.id);
  good(await change(server, invoice.id, "markUnpaid", seller.key));
  await settle(server);
  return { invoice, first };
}

describe("an invoice that was marked unpaid", () => {
  it("is never paid by two offramps: a returned one cannot be sent again next to another", async () => {
    const { invoice, first } = await billUnpaid();
    const { answer, quote_id } = await pay(invoice.id);
    good(answer);
    good(await moveOfframp(first.id, "bounced"));
    expectRefused(await reroute(first.id), "offramp_id", "record_not_unique");
    expectRefused(await moveOfframp(first.id, "sending_fiat"), "offramp_id", "record_not_unique");
    const returned = await show(server, invoice.id);
    expect(returned).toMatchObject({ status: "open" });
    expect(returned.requestId).not.toBe(invoice.requestId);

    good(await execute(server, user_id, quote_id));
    await settle(server);
    await server.call("POST", "/sandbox/clock", { advance_ms: 3_000 });
    await settle(server);
    const names = ["create", ...PAID, "c2fPaymentFailed", ...PAID];
    for (const account_id of [seller.account_id, server.account_id]) {
      expect(await namesOf(server, account_id, invoice.id)).toEqual(names);
    }
    // The invoice is paid by another now, so the first can no longer pay it.
    expectRefused(await reroute(first.id), "offramp_id", "record_not_unique");
    good(await server.call("POST", `/users/${user_id}/offramps/${first.id}/refund`));
    expect((await show(server, invoice.id)).status).toBe("paid");
  });

  it("is paid by the returned offramp once that is sent again, and then by no other", async () => {
    const { invoice, first } = await billUnpaid();
    good(await moveOfframp(first.id, "bounced"));
    good(await reroute(first.id));
    expectInvoiceProblem((await pay(invoice.id)).answer, "record_not_unique");
    good(await moveOfframp(first.id, "fiat_sent"));
    const names = ["create", ...PAID, "c2fPaymentFailed", ...PAID];
    expect(await namesOf(server, seller.account_id, invoice.id)).toEqual(names);
  });

  it("is reported by verify when two offramps pay it", async () => {
    const { invoice, first } = await billUnpaid();
    const { offramp } = await pay(invoice.id);
    const place = (id: string) =>
      server.db.database.query("update invoice_views set offramp_id = $2 where id = $1", [
        invoice.id,
        id,
      ]);
    await place(first.id);
    expect(await findFault(server)).toContain(`offramp ${offramp.id}`);
    await place(offramp.id);
    expect(await findFault(server)).toBeNull();
  });

  it("cannot be paid by a re-route once it was canceled or manually declared paid", async () => {
    for (const [type, key] of [
      ["cancel", seller.key],
      ["declareReceivedPayment", seller.key],
    ] as const) {
      const invoice = await bill();
      const offramp = await payOut(invoice.id, { outcome: "bounced" });
      good(await change(server, invoice.id, type, key));
      expectRefused(await reroute(offramp.id), "offramp_id", "record_invalid");
    }
  });
});

describe("what an offramp cannot pay", () => {
  it("is one whose payment is in progress: manual declarations are refused meanwhile", async () => {
    const invoice = await bill();
    const { quote_id, offramp } = await pay(invoice.id, { outcome: "stuck" });
    good(await execute(server, user_id, quote_id));
    await settle(server);
    const declared = await change(server, invoice.id, "declareReceivedPayment", seller.key);
    expectRefused(declared, "type", "invalid_transition");
    expectInvoiceProblem((await pay(invoice.id)).answer, "record_not_unique");
    const path = `/sandbox/offramps/${offramp.id}`;
    good(await server.call("PATCH", path, { offramp: { status: "fiat_sent" } }));
    await settle(server);
    expect(await show(server, invoice.id)).toMatchObject({
      status: "paid",
      paymentMetadata: { isManuallyPaid: false },
    });
    expect(await namesOf(server, seller.account_id, invoice.id)).toEqual(["create", ...PAID]);
    expectInvoiceProblem((await pay(invoice.id)).answer, "record_invalid");
  });

  it.each([
    ["declareSentPayment", "declaredPaid"],
    ["declareReceivedPayment", "paid"],
  ])("is one that had a %s while its offramp waited for money", async (type, status) => {
    const invoice = await bill();
    const { quote_id, offramp } = await pay(invoice.id);
    const key = type === "declareSentPayment" ? server.key : seller.key;
    good(await change(server, invoice.id, type, key));
    expectRefused(await execute(server, user_id, quote_id), "quote", "record_invalid");
    // As if it had been executed just before: the sandbox then pays the quote.
    good(await moveOfframp(offramp.id, "pending_internal_assessment"));
    await settle(server);
    const path = `/users/${user_id}/offramps/${offramp.id}`;
    expect((await server.call("GET", path)).body.offramp).toMatchObject({
      status: "ongoing_checks",
      status_message: `The invoice is ${status}; it must be open or accepted.`,
    });
    expect((await show(server, invoice.id)).paymentMetadata).toMatchObject({
      isManuallyPaid: true,
    });
    good(await server.call("POST", `${path}/refund`));
    expect(await namesOf(server, seller.account_id, invoice.id)).toEqual(["create", type]);
  });

  it("is paid once when it is declared received while its offramp is executed", async () => {
    for (let round = 0; round < 8; round += 1) {
      const invoice = await bill();
      const { quote_id, offramp } = await pay(invoice.id);
      const [executed, declared] = await Promise.all([
        execute(server, user_id, quote_id),
        change(server, invoice.id, "declareReceivedPayment", seller.key),
      ]);
      await settle(server);
      await server.call("POST", "/sandbox/clock", { advance_ms: 3_000 });
      await settle(server);
      const path = `/users/${user_id}/offramps/${offramp.id}`;
      const { status } = (await server.call("GET", path)).body.offramp;
      const by_hand = declared.status === 200;
      expect([executed.status, declared.status]).toContain(200);
      expect(status === "fiat_sent", `${status}, by hand: ${by_hand}`).toBe(!by_hand);
      expect((await show(server, invoice.id)).status).toBe("paid");
    }
  });

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
    const created = answers.filter(({ answer: { status } }) => status === 200);
    expect(created).toHaveLength(1);
  });

  it("is one that was canceled after the offramp was created: its quote is not executed", async () => {
    const invoice = await bill();
    const { quote_id } = await pay(invoice.id);
    good(await change(server, invoice.id, "cancel", seller.key));
    const refused = await execute(server, user_id, quote_id);
    expectRefused(refused, "quote", "record_invalid");
    expect(refused.body.errors[0].message).toContain(invoice.id);
    expect(await namesOf(server, seller.account_id, invoice.id)).toEqual(["create", "cancel"]);
  });

  it("is one that was canceled after the execution: the payout waits to be refunded", async () => {
    const invoice = await bill();
    const { offramp } = await pay(invoice.id);
    good(await change(server, invoice.id, "cancel", seller.key));
    // As if it had been executed just before: the sandbox then pays the quote.
    good(await moveOfframp(offramp.id, "pending_internal_assessment"));
    const path = `/users/${user_id}/offramps/${offramp.id}`;
    expect((await server.call("GET", path)).body.offramp).toMatchObject({
      status: "ongoing_checks",
      status_message: "The invoice is canceled; it must be open or accepted.",
    });
    good(await server.call("POST", `${path}/refund`));
    expect((await show(server, invoice.id)).status).toBe("canceled");
    expect(await namesOf(server, seller.account_id, invoice.id)).toEqual(["create", "cancel"]);
  });
});
