import { randomUUID } from "node:crypto";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { newInvoice } from "../harness/records.ts";
import { startTestServer, type TestServer } from "../harness/server.ts";
import { expectRefusal, findFault, good } from "../offramps/story.ts";
import { change, create, expectProblem, namesOf, show } from "./invoice-fixture.ts";

let server: TestServer;
beforeAll(async () => {
  server = await startTestServer();
});
afterAll(async () => {
  expect(await findFault(server)).toBeNull();
  await server.close();
});

const item = (more = {}) => ({ currency: "USD", quantity: 1, unitPrice: "100", ...more });

describe("creating an invoice", () => {
  it("creates a draft without a requestId, and sends no event", async () => {
    const invoice = good(await create(server));
    expect(invoice).toMatchObject({
      status: "draft",
      requestId: null,
      role: "seller",
      type: "test",
      meta: { format: "svc_invoice", version: "0.0.3" },
      events: [],
      paymentMetadata: {},
      trackedTransactions: [],
      invoiceLinks: null,
      total: "100000",
      createdBy: server.account_id,
    });
    expect(await namesOf(server, server.account_id, invoice.id)).toEqual([]);
  });

  it("POST /invoices/:id makes it payable: a requestId, links and the event create", async () => {
    const draft = good(await create(server));
    const invoice = good(await server.call("POST", `/invoices/${draft.id}`));
    expect(invoice.status).toBe("open");
    expect(invoice.requestId).toMatch(/^01[0-9a-f]{64}$/);
    expect(invoice.invoiceLinks.view).toMatch(
      /^http:\/\/127\.0\.0\.1:\d+\/invoices\/view\/[\w-]{43}$/,
    );
    expect(invoice.events).toMatchObject([{ name: "create", userId: server.account_id }]);
    expect(await namesOf(server, server.account_id, draft.id)).toEqual(["create"]);
    expectRefusal(await server.call("POST", `/invoices/${draft.id}`), "invalid_transition");
  });

  it("convert makes it payable at once, and it is found by id and by requestId", async () => {
    const invoice = good(await create(server, { convert: true }));
    expect(invoice.status).toBe("open");
    expect(await show(server, invoice.id)).toEqual(invoice);
    expect(await show(server, invoice.requestId)).toEqual(invoice);
    expect(await show(server, invoice.requestId.toUpperCase())).toEqual(invoice);
    const unknown = await server.call("GET", `/invoices/01${"0".repeat(64)}`);
    expect(unknown.status).toBe(404);
  });

  it("returns the same response for the same Idempotency-Key", async () => {
    const body = newInvoice({ convert: true });
    const options = { headers: { "idempotency-key": randomUUID() } };
    const first = await server.call("POST", "/invoices", body, options);
    const second = await server.call("POST", "/invoices", body, options);
    expect(second.text).toBe(first.text);
    expect(second.headers.get("idempotent-replayed")).toBe("true");
    const other = await server.call("POST", "/invoices", { ...body, note: "x" }, options);
    expect(other.status).toBe(409);
  });

  it("accepts each number once per account", async () => {
    const invoiceNumber = randomUUID();
    good(await create(server, { invoiceNumber }));
    const again = await create(server, { invoiceNumber });
    expectProblem(again, "invoiceNumber", "record_not_unique");
    const { key } = await server.addAccount("Same numbers");
    good(await create(server, { invoiceNumber }, key));
  });

  it("creates one of many parallel ones with the same number", async () => {
    const invoiceNumber = randomUUID();
    const answers = await Promise.all(
      Array.from({ length: 20 }, () => create(server, { invoiceNumber })),
    );
    expect(answers.filter((answer) => answer.status === 200)).toHaveLength(1);
  });

  it("keeps everything that was sent, in the interface's words", async () => {
    const full = {
      invoiceNumber: randomUUID(),
      creationDate: "2026-01-02T03:04:05.000Z",
      invoiceItems: [
        {
          name: "Räder & Öl",
          currency: "EUR",
          quantity: 2.5,
          unitPrice: "1999",
          discount: "100",
          tax: { type: "percentage", amount: "7.7" },
          reference: "R-1",
          deliveryDate: "2026-01-01",
          deliveryPeriod: "January",
        },
      ],
      buyerInfo: {
        email: "ana@example.com",
        firstName: "Ana Maria",
        lastName: "Sample",
        businessName: "Sample Lda",
        phone: "+351 21 000",
        taxRegistration: "PT1",
        companyRegistration: "C1",
        address: {
          streetAddress: "Street 1",
          extendedAddress: "Floor 2",
          city: "Lisbon",
          postalCode: "1100",
          region: "Lisboa",
          country: "PT",
        },
      },
      sellerInfo: { email: "seller@example.com", businessName: "Seller" },
      paymentTerms: {
        dueDate: "2026-02-01",
        lateFeesPercent: 5,
        lateFeesFix: "100",
        miscellaneous: "Net",
      },
      paymentOptions: [
        {
          type: "bank-account",
          value: {
            currencies: ["EUR"],
            paymentInformation: { iban: "DE89370400440532013000", accountName: "Seller" },
          },
        },
      ],
      note: "Thank\nyou",
      terms: "Terms",
      purchaseOrderId: "PO-1",
      tags: ["a", "b"],
      miscellaneous: { builderId: "x", notifications: { creation: true } },
    };
    const invoice = good(await server.call("POST", "/invoices", full));
    expect(invoice).toMatchObject(full);
    expect(invoice.buyerInfo.address).toEqual({
      ...full.buyerInfo.address,
      "street-address": "Street 1",
      "extended-address": "Floor 2",
      locality: "Lisbon",
      "postal-code": "1100",
      "country-name": "PT",
    });
  });

  it("accepts the older names of an address, unless they contradict the new ones", async () => {
    const older = { "street-address": "Street 1", locality: "Lisbon", "country-name": "pt" };
    const buyerInfo = { email: "buyer@example.com", address: { ...older, city: " Lisbon" } };
    const { address } = good(await create(server, { buyerInfo })).buyerInfo;
    expect(address).toEqual({
      ...{ ...older, "country-name": "PT" },
      ...{ streetAddress: "Street 1", city: "Lisbon", country: "PT" },
    });
    const again = good(await create(server, { buyerInfo: { ...buyerInfo, address } }));
    expect(again.buyerInfo.address).toEqual(address);
    const sendAddress = (address: object) =>
      create(server, { buyerInfo: { email: "buyer@example.com", address } });
    const contradiction = await sendAddress({ city: "Porto", locality: "Lisbon" });
    expectProblem(contradiction, "buyerInfo.address.locality", "record_invalid");
    const nowhere = await sendAddress({ "country-name": "XX" });
    expectProblem(nowhere, "buyerInfo.address.country-name", "record_invalid");
  });

  it("refuses notifications of another shape", async () => {
    for (const notifications of [true, {}, { creation: "yes" }, { creation: true, x: 1 }]) {
      const answer = await create(server, { miscellaneous: { notifications } });
      expectProblem(answer, "miscellaneous.notifications", "record_invalid");
    }
  });

  it("reports what a list of tags and a body must be, and nothing else", async () => {
    const tagged = await create(server, { tags: [null] });
    expectProblem(tagged, "tags[0]", "parameter_missing");
    for (const body of [[], [1], "text"]) {
      const { errors } = (await server.call("POST", "/invoices", body)).body;
      expect(errors).toMatchObject([{ field: "body", message: "Send a JSON object." }]);
    }
  });

  it("has three links once it is payable", async () => {
    const { invoiceLinks } = good(await create(server, { convert: true }));
    expect(Object.keys(invoiceLinks).sort()).toEqual(["pay", "signUpAndPay", "view"]);
    expect(invoiceLinks.signUpAndPay.startsWith(invoiceLinks.view)).toBe(true);
  });

  describe("with a wallet", () => {
    const EVM = `0x${"ab".repeat(20)}`;
    const place = "paymentOptions[0].value";
    const address = `${place}.paymentInformation.paymentAddress`;
    const chain = `${place}.paymentInformation.chain`;
    const pay = (currencies: string[], paymentInformation: Record<string, string>) =>
      create(server, {
        paymentOptions: [{ type: "wallet", value: { currencies, paymentInformation } }],
      });

    it.each([
      [["USDC-matic"], { chain: "base" }, `${place}.currencies[0]`, "record_invalid"],
      [["USDC-matic", "FOO-bar"], {}, `${place}.currencies[1]`, "record_invalid"],
      [["USDC-nochain"], {}, `${place}.currencies[0]`, "record_invalid"],
      [["FOO"], { chain: "base" }, `${place}.currencies[0]`, "record_invalid"],
      [["EUR"], { chain: "base" }, `${place}.currencies[0]`, "record_invalid"],
      [["USDC"], { chain: "nochain" }, chain, "record_invalid"],
      [["USDC"], {}, chain, "parameter_missing"],
      [["USDC-matic"], { paymentAddress: "0x12" }, address, "record_invalid"],
      [["USDC-matic", "USDT-tron"], {}, address, "record_invalid"],
    ])("refuses %j with %j", async (currencies, more, field, code) => {
      expectProblem(await pay(currencies, { paymentAddress: EVM, ...more }), field, code);
    });

    it("accepts coins of one or several chains on which the address is valid", async () => {
      good(await pay(["USDC", "USDT-matic"], { paymentAddress: EVM, chain: "polygon" }));
      good(await pay(["USDC-base", "USDC-arbitrum-one"], { paymentAddress: EVM }));
    });

    it("refuses a bank account in an unknown currency", async () => {
      const paymentInformation = { iban: "DE89370400440532013000" };
      const value = { currencies: ["FOO"], paymentInformation };
      const answer = await create(server, { paymentOptions: [{ type: "bank-account", value }] });
      expectProblem(answer, `${place}.currencies[0]`, "record_invalid");
    });
  });

  it("fills the seller of an invoice from the account", async () => {
    const invoice = good(await create(server));
    expect(invoice.sellerInfo).toEqual({ businessName: "demo" });
  });
});

describe("a salary", () => {
  const salary = {
    meta: { format: "svc_salary" },
    sellerInfo: { email: "employee@example.com", firstName: "Eva" },
  };

  it("has the caller as its buyer and the employee as its seller", async () => {
    const invoice = good(await create(server, { ...salary, convert: true }));
    expect(invoice).toMatchObject({ role: "buyer", meta: { format: "svc_salary" } });
    const accepted = good(await change(server, invoice.id, "accept"));
    expect(accepted.status).toBe("accepted");
    expect(good(await change(server, invoice.id, "cancel")).status).toBe("canceled");
  });

  it("needs the employee's e-mail", async () => {
    const answer = await create(server, { ...salary, sellerInfo: {} });
    expect(answer.status).toBe(400);
    expectProblem(answer, "sellerInfo.email", "parameter_missing");
  });
});

describe("an invalid invoice", () => {
  it("reports all problems at once, each with its field", async () => {
    const answer = await create(server, {
      invoiceNumber: " ",
      invoiceItems: [
        item({ unitPrice: "-5", quantity: -1, refrence: "x" }),
        item({ currency: "EUR", unitPrice: "1.5", tax: { type: "percentage" } }),
      ],
      buyerInfo: { email: "nobody", address: { country: "XX" } },
      paymentOptions: [{ type: "wallet", value: { paymentInformation: { chain: "matic" } } }],
      creationDate: "2026-02-30",
      recurringRule: "RRULE:FREQ=HOURLY",
    });
    expect(answer.body.error_code).toBe("parameter_unknown");
    const problems = Object.fromEntries(
      answer.body.errors.map((problem: { field: string; code: string }) => [
        problem.field,
        problem.code,
      ]),
    );
    expect(problems).toEqual({
      "invoiceItems[0].refrence": "parameter_unknown",
      invoiceNumber: "parameter_missing",
      "invoiceItems[0].unitPrice": "record_invalid",
      "invoiceItems[0].quantity": "record_invalid",
      "invoiceItems[1].unitPrice": "record_invalid",
      "invoiceItems[1].currency": "record_invalid",
      "invoiceItems[1].tax.amount": "parameter_missing",
      "buyerInfo.email": "record_invalid",
      "buyerInfo.address.country": "record_invalid",
      "paymentOptions[0].value.currencies": "parameter_missing",
      "paymentOptions[0].value.paymentInformation.paymentAddress": "parameter_missing",
      creationDate: "record_invalid",
      recurringRule: "record_invalid",
    });
  });

  it.each([
    ["invoiceItems[0].unitPrice", { unitPrice: " 1" }],
    ["invoiceItems[0].unitPrice", { unitPrice: "1\n" }],
    ["invoiceItems[0].discount", { discount: "1 " }],
    ["invoiceItems[0].quantity", { quantity: " 1" }],
    ["invoiceItems[0].tax.amount", { tax: { type: "fixed", amount: " 1" } }],
    ["invoiceItems[0].tax.amount", { tax: { type: "percentage", amount: "20 " } }],
  ])("%s is refused with a space: %j", async (field, change) => {
    const answer = await create(server, { invoiceItems: [item(change)] });
    expectProblem(answer, field, "record_invalid");
  });

  it("refuses a quantity with very many digits without reading them all", async () => {
    const answer = await create(server, {
      invoiceItems: [item({ quantity: `1.${"0".repeat(500_000)}` })],
    });
    expectProblem(answer, "invoiceItems[0].quantity", "record_invalid");
  });

  it.each([
    ["invoiceItems", { invoiceItems: [] }, "parameter_missing"],
    ["paymentOptions", { paymentOptions: undefined }, "parameter_missing"],
    ["invoiceItems[0].currency", { invoiceItems: [item({ currency: "XXX" })] }, "record_invalid"],
    [
      "invoiceItems[0].currency",
      { invoiceItems: [item({ currency: "USDC-x" })] },
      "record_invalid",
    ],
    ["invoiceItems[0].discount", { invoiceItems: [item({ discount: "101" })] }, "record_invalid"],
    [
      "invoiceItems",
      { invoiceItems: [item({ unitPrice: "9".repeat(15), quantity: 2 })] },
      "record_invalid",
    ],
    ["meta.format", { meta: { format: "rnf_invoice" } }, "record_invalid"],
    ["tags[0]", { tags: ["x".repeat(51)] }, "value_too_long"],
    ["convert", { convert: true, recurringRule: "FREQ=DAILY" }, "record_invalid"],
  ])("reports %s", async (field, more, code) => {
    expectProblem(await create(server, more), field, code);
  });

  it("404 for a payment detail of another account", async () => {
    const value = { paymentInformation: { paymentDetailId: randomUUID() } };
    const answer = await create(server, { paymentOptions: [{ type: "bank-account", value }] });
    expect(answer.status).toBe(404);
    expectProblem(
      answer,
      "paymentOptions[0].value.paymentInformation.paymentDetailId",
      "record_not_found",
    );
  });
});
