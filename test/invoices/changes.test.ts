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
} from "./invoice-room.ts";

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
/** Who may do what, and where it leads. */
const TABLE: Record<string, Partial<Record<(typeof STATES)[number], string>>> = {
  "buyer accept": { open: "accepted" },
  "buyer reject": { open: "rejected", accepted: "rejected" },
  "seller cancel": { open: "canceled", accepted: "canceled" },
  "buyer declareSentPayment": { open: "declaredPaid", accepted: "declaredPaid" },
  "seller declareReceivedPayment": { open: "paid", accepted: "paid", declaredPaid: "paid" },
  "seller markUnpaid": { paid: "open" },
};
const TYPES = ["accept", "reject", "cancel", "declareSentPayment", "declareReceivedPayment"];

describe("who may do what", () => {
  it.each(STATES)("from %s follows the table, and nothing else is possible", async (from) => {
    const sides = [
      ["seller", seller],
      ["buyer", buyer],
    ] as const;
    const cases = [...TYPES, "markUnpaid"].flatMap((type) =>
      sides.map(([side, account]) => ({ type, side, account })),
    );
    const invoices = await Promise.all(
      cases.map(() =>
        create(server, { buyerInfo: { email: buyer.email }, convert: true }, seller.key),
      ),
    );
    await Promise.all(
      invoices.map(async (answer) => {
        const wish = { invoice: { status: from } };
        const path = `/sandbox/invoices/${good(answer).id}`;
        good(await server.call("PATCH", path, wish, { key: seller.key }));
      }),
    );
    await settle(server);
    await Promise.all(
      cases.map(async ({ type, side, account }, at) => {
        const input = type === "reject" ? { note: "Why" } : undefined;
        const answer = await change(server, invoices[at]!.body.id, type, account.key, input);
        const expected = TABLE[`${side} ${type}`]?.[from];
        if (expected) expect(good(answer), `${side} ${type}`).toMatchObject({ status: expected });
        else expectProblem(answer, "type", "invalid_transition");
      }),
    );
  });

  it("needs a note to reject, and knows no other types", async () => {
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

describe("PATCH /sandbox/invoices/:id", () => {
  it("walks the legal path, each step recorded and told", async () => {
    const draft = good(await create(server, {}, seller.key));
    const walk = (status: string) =>
      server.call("PATCH", `/sandbox/invoices/${draft.id}`, { invoice: { status } }, seller);
    expect(good(await walk("declaredPaid")).status).toBe("declaredPaid");
    const names = ["create", "declareSentPayment"];
    expect(await namesOf(server, seller.account_id, draft.id)).toEqual(names);
    expect(good(await walk("accepted")).status).toBe("accepted");
    good(await walk("canceled"));
    expectRefusal(await walk("open"), "invalid_transition");
    expectProblem(await walk("overdue"), "invoice.status", "record_invalid");
  });
});
