import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { startTestServer, type TestServer } from "../harness/server.ts";
import { expectRefusal, findFault, good, settle } from "../offramps/story.ts";
import {
  addBilledAccount,
  type BilledAccount,
  change,
  create,
  expectProblem,
  namesOf,
  sendInvoice,
} from "./invoice-fixture.ts";

let server: TestServer;
let seller: BilledAccount;
let buyer: BilledAccount;
beforeAll(async () => {
  server = await startTestServer();
  seller = await addBilledAccount(server, "Seller");
  buyer = await addBilledAccount(server, "Buyer");
});
afterAll(async () => {
  expect(await findFault(server)).toBeNull();
  await server.close();
});

const send = (more = {}) => sendInvoice(server, seller, buyer, more);

const STATES = ["open", "accepted", "declaredPaid", "paid", "canceled", "rejected"] as const;
/** Which party may make which change, and the resulting state. */
const TABLE: Record<string, Partial<Record<(typeof STATES)[number], string>>> = {
  "buyer accept": { open: "accepted" },
  "buyer reject": { open: "rejected", accepted: "rejected" },
  "seller cancel": { open: "canceled", accepted: "canceled" },
  "buyer declareSentPayment": { open: "declaredPaid", accepted: "declaredPaid" },
  "seller declareReceivedPayment": { open: "paid", accepted: "paid", declaredPaid: "paid" },
  "seller markUnpaid": { paid: "open" },
  "seller changePaymentOptions": { open: "open", accepted: "open" },
};
const TYPES = [
  ...["accept", "reject", "cancel", "declareSentPayment", "declareReceivedPayment"],
  ...["markUnpaid", "changePaymentOptions"],
];
const INPUTS: Record<string, Record<string, unknown>> = {
  reject: { note: "Why" },
  changePaymentOptions: { paymentOptions: [bankOption("DE89370400440532013000")] },
};

function bankOption(iban: string) {
  return {
    type: "bank-account",
    value: { currencies: ["EUR"], paymentInformation: { accountName: "Sample Seller", iban } },
  };
}

describe("allowed changes", () => {
  it.each(STATES)("from %s, the table's transitions are possible and no others", async (from) => {
    const sides = [
      ["seller", seller],
      ["buyer", buyer],
    ] as const;
    const cases = TYPES.flatMap((type) =>
      sides.map(([side, account]) => ({ type, side, account })),
    );
    const invoices = await Promise.all(
      cases.map(() =>
        create(server, { buyerInfo: { email: buyer.email }, convert: true }, seller.key),
      ),
    );
    await Promise.all(
      invoices.map(async (answer) => {
        const request = { invoice: { status: from } };
        const path = `/sandbox/invoices/${good(answer).id}`;
        good(await server.call("PATCH", path, request, { key: seller.key }));
      }),
    );
    await settle(server);
    await Promise.all(
      cases.map(async ({ type, side, account }, at) => {
        const { id } = invoices[at]!.body;
        const answer = await change(server, id, type, account.key, INPUTS[type]);
        const expected = TABLE[`${side} ${type}`]?.[from];
        if (expected) expect(good(answer), `${side} ${type}`).toMatchObject({ status: expected });
        else expectProblem(answer, "type", "invalid_transition");
      }),
    );
  });

  it("rejecting needs a note, and unknown types are refused", async () => {
    const invoice = await send();
    const without = await change(server, invoice.id, "reject", buyer.key);
    expect(without.status).toBe(400);
    expectProblem(without, "input.note", "parameter_missing");
    const unknown = await change(server, invoice.id, "paid", seller.key);
    expectProblem(unknown, "type", "record_invalid");
    const mistyped = await change(server, invoice.id, "reject", buyer.key, {
      nota: "x",
      note: "y",
    });
    expectProblem(mistyped, "input.nota", "parameter_unknown");
  });

  it("marks a paid invoice unpaid without an event, and it can be paid again", async () => {
    const invoice = await send();
    good(await change(server, invoice.id, "declareReceivedPayment", seller.key));
    const unpaid = good(await change(server, invoice.id, "markUnpaid", seller.key));
    expect(unpaid).toMatchObject({ status: "open", paymentMetadata: {} });
    const part = { amount: "99999" };
    const less = await change(server, invoice.id, "declareReceivedPayment", seller.key, part);
    expectProblem(less, "input.amount", "record_invalid");
    const input = { amount: "100000", txLink: "https://explorer.example/tx/1" };
    const paid = good(
      await change(server, invoice.id, "declareReceivedPayment", seller.key, input),
    );
    expect(paid.paymentMetadata).toMatchObject({ isManuallyPaid: true, ...input });
    await settle(server);
    const names = ["create", "declareReceivedPayment", "declareReceivedPayment"];
    expect(await namesOf(server, buyer.account_id, invoice.id)).toEqual(names);
  });
});

describe("changePaymentOptions", () => {
  const options = (...ibans: string[]) => ({ paymentOptions: ibans.map(bankOption) });

  it("replaces the options for both parties, requires a new acceptance, and sends no event", async () => {
    const invoice = await send();
    good(await change(server, invoice.id, "accept", buyer.key));
    const input = { ...options("GB29NWBK60161331926819"), note: "We have changed our bank." };
    const changed = good(
      await change(server, invoice.id, "changePaymentOptions", seller.key, input),
    );
    expect(changed).toMatchObject({ status: "open", ...options("GB29NWBK60161331926819") });
    await settle(server);
    const seen = await server.call("GET", `/invoices/${invoice.id}`, undefined, buyer);
    expect(good(seen).paymentOptions).toEqual(changed.paymentOptions);
    expect(seen.body.events.at(-1)).toMatchObject({
      name: "changePaymentOptions",
      note: "We have changed our bank.",
    });
    expect(await namesOf(server, buyer.account_id, invoice.id)).toEqual(["create", "accept"]);
    expect(good(await change(server, invoice.id, "accept", buyer.key)).status).toBe("accepted");
  });

  it("of a salary is allowed to the employee, who does not own it", async () => {
    const salary = good(
      await create(
        server,
        {
          meta: { format: "svc_salary" },
          buyerInfo: { email: buyer.email },
          sellerInfo: { email: seller.email },
          convert: true,
        },
        buyer.key,
      ),
    );
    await settle(server);
    const input = options("GB29NWBK60161331926819");
    const by_employer = await change(server, salary.id, "changePaymentOptions", buyer.key, input);
    expectProblem(by_employer, "type", "invalid_transition");
    good(await change(server, salary.id, "changePaymentOptions", seller.key, input));
    const seen = await server.call("GET", `/invoices/${salary.id}`, undefined, buyer);
    expect(good(seen)).toMatchObject(input);
  });

  it("ends after 100,000 characters; the invoice can still be declared paid or canceled", async () => {
    const [invoice, other] = [await send(), await send()];
    const input = {
      ...options(...Array(20).fill("GB29NWBK60161331926819")),
      note: "n".repeat(2_000),
    };
    const again = (id: string) => change(server, id, "changePaymentOptions", seller.key, input);
    for (const { id } of [invoice, other]) {
      let changes = 0;
      while ((await again(id)).status === 200) changes += 1;
      expect(changes).toBeGreaterThan(10);
      expectProblem(await again(id), "type", "limit_exceeded");
    }
    const declared = await change(server, invoice.id, "declareSentPayment", buyer.key);
    expect(good(declared).status).toBe("declaredPaid");
    good(await change(server, invoice.id, "declareReceivedPayment", seller.key));
    expect(good(await change(server, invoice.id, "markUnpaid", seller.key)).status).toBe("open");
    expect(good(await change(server, other.id, "cancel", seller.key)).status).toBe("canceled");
  });

  it("needs complete options, and reports what is wrong with them", async () => {
    const invoice = await send();
    const attempt = (input?: Record<string, unknown>) =>
      change(server, invoice.id, "changePaymentOptions", seller.key, input);
    expectProblem(await attempt(), "input.paymentOptions", "parameter_missing");
    const place = "input.paymentOptions[0].value.paymentInformation";
    expectProblem(await attempt(options("DE00")), `${place}.iban`, "record_invalid");
    const option = bankOption("DE89370400440532013000");
    const paymentInformation = { paymentDetailId: "01900000-0000-7000-8000-000000000000" };
    const unknown = { ...option, value: { ...option.value, paymentInformation } };
    const answer = await attempt({ paymentOptions: [unknown] });
    expectProblem(answer, `${place}.paymentDetailId`, "record_not_found");
    const none = await attempt({ paymentOptions: [] });
    expectProblem(none, "input.paymentOptions", "parameter_missing");
    const misplaced = await change(server, invoice.id, "cancel", seller.key, options("DE00"));
    expectProblem(misplaced, "input.paymentOptions", "record_invalid");
    const shown = await server.call("GET", `/invoices/${invoice.id}`, undefined, seller);
    expect(good(shown).paymentOptions).toEqual(invoice.paymentOptions);
  });
});

describe("PATCH /sandbox/invoices/:id", () => {
  it("takes the legal path, with every step recorded and reported", async () => {
    const draft = good(await create(server, {}, seller.key));
    const forceStatus = (status: string) =>
      server.call("PATCH", `/sandbox/invoices/${draft.id}`, { invoice: { status } }, seller);
    expect(good(await forceStatus("declaredPaid")).status).toBe("declaredPaid");
    const names = ["create", "declareSentPayment"];
    expect(await namesOf(server, seller.account_id, draft.id)).toEqual(names);
    expect(good(await forceStatus("accepted")).status).toBe("accepted");
    good(await forceStatus("canceled"));
    expectRefusal(await forceStatus("open"), "invalid_transition");
    expectProblem(await forceStatus("overdue"), "invoice.status", "record_invalid");
  });
});
