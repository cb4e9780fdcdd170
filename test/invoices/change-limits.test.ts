import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { applyChange } from "../../src/invoices/apply-change.ts";
import { actProblems } from "../../src/invoices/change-invoices.ts";
import {
  type ChangeInput,
  type ChangeName,
  changeProblems,
  type KeyedInvoice,
  ownRole,
} from "../../src/invoices/model.ts";
import { findInvoices, openInvoices } from "../../src/invoices/store.ts";
import { startTestServer, type TestServer } from "../harness/server.ts";
import { findFault, good } from "../offramps/story.ts";
import {
  addBilledAccount,
  type BilledAccount,
  expectProblem,
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

type Try = [name: ChangeName, input?: ChangeInput];

/** Makes changes of an invoice in memory, as far as the rules for the party allow them. */
async function startParties(more: object = {}) {
  const { id } = await sendInvoice(server, seller, buyer);
  const { database, keyring } = server.core;
  const rows = await findInvoices(database, [{ account_id: seller.account_id, id }]);
  const [opened] = await openInvoices(database, keyring, rows);
  const { invoice } = opened!;
  let entry: KeyedInvoice = {
    ...opened!,
    invoice: { ...invoice, document: { ...invoice.document, ...more } },
  };
  const attempt = (account: BilledAccount, [name, input]: Try) => {
    const act = { name, input: input ?? null, actor_account_id: account.account_id };
    const is_owner = account === seller;
    const role = is_owner ? ownRole(entry.invoice.format) : "buyer";
    const problems = [...changeProblems(entry.invoice, name, role), ...actProblems(entry, act)];
    const [problem] = problems;
    if (problem) return `${problem.field} ${problem.code}`;
    entry = applyChange(entry, act, id, new Date());
    return entry.invoice.status;
  };
  /** How often it is possible, each time followed by the others' answers. */
  const count = (account: BilledAccount, act: Try, ...then: [BilledAccount, Try][]) => {
    for (let times = 0; ; times += 1) {
      if (attempt(account, act).includes("limit_exceeded")) return times;
      for (const [other, answer] of then) expect(attempt(other, answer)).not.toContain(" ");
    }
  };
  return { attempt, count, size: () => JSON.stringify(entry.history).length };
}

const OPTIONS: Try = ["changePaymentOptions", { paymentOptions: [] }];
const SENT: Try = ["declareSentPayment"];
const RECEIVED: Try = ["declareReceivedPayment"];
const UNPAID: Try = ["markUnpaid"];

describe("what a party can make again and again", () => {
  it("ends after 100 times, and uses up nothing of the other party", async () => {
    const { attempt, count } = await startParties();
    expect(count(buyer, SENT, [seller, RECEIVED], [seller, UNPAID])).toBe(100);
    expect(count(seller, OPTIONS)).toBe(100);
    expect(count(seller, RECEIVED, [seller, UNPAID])).toBe(100);
    expect(attempt(buyer, ["accept"])).toBe("accepted");
    expect(attempt(buyer, ["reject", { note: "No." }])).toBe("rejected");
  });

  it("never keeps the seller from answering that a payment was declared", async () => {
    const { attempt, count } = await startParties();
    expect(count(seller, RECEIVED, [seller, UNPAID])).toBe(100);
    expect(attempt(buyer, SENT)).toBe("declaredPaid");
    expect(attempt(seller, RECEIVED)).toBe("paid");
    expect(attempt(seller, UNPAID)).toBe("open");
    expect(attempt(seller, ["cancel"])).toBe("canceled");
  });

  it("ends earlier where each time stores a large invoice, for each party", async () => {
    const { attempt, count } = await startParties({ note: "n".repeat(1_000_000) });
    expect(count(buyer, SENT, [seller, RECEIVED], [seller, UNPAID])).toBe(5);
    expect(count(seller, OPTIONS)).toBe(5);
    expect(count(seller, RECEIVED, [seller, UNPAID])).toBe(5);
    expect(attempt(seller, ["cancel"])).toBe("canceled");
  });

  it("has 100,000 characters of input; without input it goes on", async () => {
    const { attempt, count, size } = await startParties();
    const input = { note: "n".repeat(2_000) };
    const times = count(
      buyer,
      ["declareSentPayment", input],
      [seller, RECEIVED],
      [seller, ["markUnpaid"]],
    );
    expect(times).toBe(50);
    expect(attempt(buyer, ["accept", input])).toBe("input limit_exceeded");
    expect(attempt(buyer, ["accept"])).toBe("accepted");
    expect(attempt(seller, ["declareReceivedPayment", input])).toBe("paid");
    expect(attempt(seller, UNPAID)).toBe("open");
    expect(attempt(buyer, SENT)).toBe("declaredPaid");
    expect(size()).toBeLessThan(200_000);
  });
});

it("the sandbox makes a change as often as a party could", async () => {
  const items = Array.from({ length: 500 }, () => ({
    ...{ name: "界".repeat(400), currency: "EUR" },
    ...{ quantity: 1, unitPrice: "100" },
  }));
  const { id } = await sendInvoice(server, seller, buyer, { invoiceItems: items });
  const force = (status: string) =>
    server.call("PATCH", `/sandbox/invoices/${id}`, { invoice: { status } }, { key: seller.key });
  let times = 0;
  for (; times < 20; times += 1) {
    if ((await force("paid")).status !== 200) break;
    good(await force("open"));
  }
  expect(times).toBeGreaterThan(5);
  expect(times).toBeLessThan(10);
  expectProblem(await force("paid"), "invoice.status", "limit_exceeded");
});
