import { randomUUID } from "node:crypto";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { startTestServer, type TestServer } from "../../harness/server.ts";
import { findFault, good, settle } from "../../offramps/story.ts";
import {
  addBilledAccount,
  type BilledAccount,
  change,
  create,
  eventsOf,
  expectProblem,
  namesOf,
  sendInvoice,
  setEmail,
  show,
} from "../invoice-fixture.ts";

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

describe("an invoice between two accounts", () => {
  it("is visible to each with its own role, under the same id and requestId", async () => {
    const invoice = await send();
    const seen = await show(server, invoice.id, buyer.key);
    expect(seen).toEqual({ ...invoice, role: "buyer" });
    expect(invoice.role).toBe("seller");
    expect(await show(server, invoice.requestId, buyer.key)).toEqual(seen);
    const stranger = await addBilledAccount(server, "Stranger");
    for (const id of [invoice.id, invoice.requestId]) {
      const answer = await server.call("GET", `/invoices/${id}`, undefined, { key: stranger.key });
      expect(answer.status).toBe(404);
    }
    expect((await change(server, invoice.id, "accept", stranger.key)).status).toBe(404);
  });

  it("is not visible to the other party while it is a draft", async () => {
    const draft = await send({ convert: false });
    const answer = await server.call("GET", `/invoices/${draft.id}`, undefined, { key: buyer.key });
    expect(answer.status).toBe(404);
    good(await server.call("POST", `/invoices/${draft.id}`, undefined, { key: seller.key }));
    await settle(server);
    expect((await show(server, draft.id, buyer.key)).status).toBe("open");
  });

  it("notifies each party once of every change, with the same sequence and change id", async () => {
    const invoice = await send();
    good(await change(server, invoice.id, "accept", buyer.key));
    good(await change(server, invoice.id, "declareSentPayment", buyer.key));
    good(await change(server, invoice.id, "declareReceivedPayment", seller.key));
    await settle(server);
    const own = await eventsOf(server, seller.account_id, invoice.id);
    const other = await eventsOf(server, buyer.account_id, invoice.id);
    expect(own.map((event) => event.name)).toEqual([
      "create",
      "accept",
      "declareSentPayment",
      "declareReceivedPayment",
    ]);
    const keyOf = ({ name, sequence, change_id }: (typeof own)[0]) => [name, sequence, change_id];
    expect(other.map(keyOf)).toEqual(own.map(keyOf));
    expect(own.map((event) => event.body.invoice.role)).toEqual(Array(4).fill("seller"));
    expect(other.map((event) => event.body.invoice.role)).toEqual(Array(4).fill("buyer"));
    for (const events of [own, other]) {
      expect(events.map((event) => event.sequence)).toEqual([1, 2, 3, 4]);
      expect(events.map((event) => event.body.invoice.status)).toEqual([
        "open",
        "accepted",
        "declaredPaid",
        "paid",
      ]);
      const times = events.map((event) => event.body.timestamp);
      expect(times).toEqual([...new Set(times)].sort((a, b) => a - b));
      expect(events.map((event) => event.body.variant)).toEqual(Array(4).fill("svc_invoice"));
    }
  });

  it("shows in events who made which change, and why", async () => {
    const invoice = await send();
    const input = { note: "Not ordered" };
    const rejected = good(await change(server, invoice.id, "reject", buyer.key, input));
    expect(rejected).toMatchObject({
      status: "rejected",
      role: "buyer",
      events: [
        { name: "create", userId: seller.account_id },
        { name: "reject", userId: buyer.account_id, note: "Not ordered" },
      ],
    });
  });

  it("applies a buyer's request once, however often it is repeated with its key", async () => {
    const invoice = await send();
    const headers = { "idempotency-key": randomUUID() };
    const accept = () => change(server, invoice.id, "accept", buyer.key, undefined, headers);
    const first = await accept();
    expect(good(first).status).toBe("accepted");
    const second = await accept();
    expect(second.text).toBe(first.text);
    expect(second.headers.get("idempotent-replayed")).toBe("true");
    const reject = { note: "No" };
    const other = await change(server, invoice.id, "reject", buyer.key, reject, headers);
    expect(other.body.error_code).toBe("idempotency_key_reused");
    // The response was not stored, as after a crash between the two transactions.
    await server.db.database.query(
      "delete from commands where account_id = $1 and idempotency_index is not null",
      [buyer.account_id],
    );
    expect(good(await accept()).status).toBe("accepted");
    await settle(server);
    expect(await namesOf(server, seller.account_id, invoice.id)).toEqual(["create", "accept"]);
  });

  it("of 50 parallel acceptances and rejections applies each kind at most once", async () => {
    const invoice = await send();
    const answers = await Promise.all(
      Array.from({ length: 50 }, (_, at) =>
        at % 2 === 0
          ? change(server, invoice.id, "accept", buyer.key)
          : change(server, invoice.id, "reject", buyer.key, { note: "No" }),
      ),
    );
    const won = answers.filter((answer) => answer.status === 200);
    // An accepted invoice can still be rejected, once.
    expect(won.length).toBeLessThanOrEqual(2);
    await settle(server);
    const names = await namesOf(server, seller.account_id, invoice.id);
    expect(names).toHaveLength(1 + won.length);
    expect(await namesOf(server, buyer.account_id, invoice.id)).toEqual(names);
    expect((await show(server, invoice.id, seller.key)).status).toBe("rejected");
  });

  it("accepts one of 50 parallel acceptances while the seller cancels", async () => {
    const invoice = await send();
    const answers = await Promise.all(
      Array.from({ length: 50 }, (_, at) =>
        at % 2 === 0
          ? change(server, invoice.id, "accept", buyer.key)
          : change(server, invoice.id, "cancel", seller.key),
      ),
    );
    const accepted = answers.filter((answer) => answer.body.role === "buyer");
    const canceled = answers.filter((answer) => answer.body.role === "seller");
    expect(accepted.length).toBeLessThanOrEqual(1);
    expect(canceled).toHaveLength(1);
    await settle(server);
    const names = await namesOf(server, buyer.account_id, invoice.id);
    expect(names).toEqual(["create", ...(accepted.length ? ["accept"] : []), "cancel"]);
  });

  it("becomes visible to an account that gets its billing address later", async () => {
    const email = `late-${randomUUID()}@example.com`;
    const invoice = await sendInvoice(server, seller, { email });
    const late = await server.addAccount(`Late ${randomUUID()}`);
    await setEmail(server, late.account_id, email.toUpperCase());
    expect((await show(server, invoice.id, late.key)).role).toBe("buyer");
    expect(await namesOf(server, late.account_id, invoice.id)).toEqual([]);
    good(await change(server, invoice.id, "accept", late.key));
    await settle(server);
    expect(await namesOf(server, late.account_id, invoice.id)).toEqual(["accept"]);
  });

  it("cannot be sent to its own issuer", async () => {
    const answer = await create(server, { buyerInfo: { email: seller.email } }, seller.key);
    expectProblem(answer, "buyerInfo.email", "record_invalid");
    const salary = { meta: { format: "svc_salary" }, sellerInfo: { email: seller.email } };
    expectProblem(await create(server, salary, seller.key), "sellerInfo.email", "record_invalid");
  });

  it("of a salary is shared with the employee, who is its seller", async () => {
    const employee = await addBilledAccount(server, "Employee");
    const salary = { meta: { format: "svc_salary" }, sellerInfo: { email: employee.email } };
    const invoice = good(await create(server, { ...salary, convert: true }, seller.key));
    await settle(server);
    expect(invoice.role).toBe("buyer");
    expect((await show(server, invoice.id, employee.key)).role).toBe("seller");
    good(await change(server, invoice.id, "declareReceivedPayment", employee.key));
    const [event] = (await eventsOf(server, seller.account_id, invoice.id)).slice(-1);
    expect(event!.body).toMatchObject({ variant: "svc_salary", event: "declareReceivedPayment" });
  });
});
