import { randomUUID } from "node:crypto";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { loadCatalogue } from "../../../src/catalogue/catalogue.ts";
import { payeeProblem } from "../../../src/invoices/payments/named-accounts.ts";
import type { PaymentDetailFields } from "../../../src/payment-details/model.ts";
import { addApprovedUser, addPaymentDetail, addQuote, execute } from "../../harness/ramp.ts";
import { startTestServer, type TestServer } from "../../harness/server.ts";
import { expectRefusal, findFault, good, settle } from "../../offramps/story.ts";
import {
  addBilledAccount,
  BANK_OPTION,
  type BilledAccount,
  change,
  sendInvoice,
  setEmail,
  show,
} from "../invoice-fixture.ts";

const SELLER_IBAN = "NL91ABNA0417164300";
const SELLER_OPTION = bankOption({ iban: SELLER_IBAN });
const FIELD = "offramps[0].payment_detail_id";

let server: TestServer;
let seller: BilledAccount;
let user_id: string;
/** DE89…, the buyer's own. */
let own_detail: string;
let seller_detail: string;
const buyer = { email: `payer-${randomUUID()}@example.com` };
beforeAll(async () => {
  server = await startTestServer({ environment: { SLIPROAD_DOCUMENTS: "never" } });
  seller = await addBilledAccount(server, "Seller");
  await setEmail(server, server.account_id, buyer.email);
  user_id = await addApprovedUser(server);
  own_detail = await addPaymentDetail(server, user_id, "eur");
  seller_detail = await addPaymentDetail(server, user_id, "eur", { iban: SELLER_IBAN });
});
afterAll(async () => {
  expect(await findFault(server)).toBeNull();
  await server.close();
});

function bankOption(paymentInformation: Record<string, string>, currency = "EUR") {
  return { type: "bank-account", value: { currencies: [currency], paymentInformation } };
}

const bill = (...paymentOptions: unknown[]) =>
  sendInvoice(server, seller, buyer, { paymentOptions });

async function pay(invoice_id: string, payment_detail_id: string, more = {}) {
  const quote_id = await addQuote(server, user_id);
  const offramp = { payment_detail_id, destination_amount: 1000, destination_currency: "eur" };
  const path = `/users/${user_id}/quotes/${quote_id}/offramps`;
  const offramps = [{ ...offramp, invoice_id, ...more }];
  return { quote_id, answer: await server.call("POST", path, { offramps }) };
}

describe("an invoice that names the seller's bank account", () => {
  it("is not paid to the buyer's own account", async () => {
    const invoice = await bill(SELLER_OPTION);
    const { answer } = await pay(invoice.id, own_detail);
    expectRefusal(answer, "record_invalid");
    expect(answer.body.errors).toMatchObject([{ field: FIELD, code: "record_invalid" }]);
    expect(answer.text).not.toContain(SELLER_IBAN);
    expect((await show(server, invoice.id, seller.key)).status).toBe("open");
  });

  it("is paid to the account that it names, however it is spelled", async () => {
    const spellings = [
      bankOption({ iban: "nl91 abna 0417 1643 00" }),
      bankOption({ accountNumber: SELLER_IBAN }),
    ];
    for (const option of spellings) {
      const invoice = await bill(option);
      const { quote_id, answer } = await pay(invoice.id, seller_detail);
      good(answer);
      good(await execute(server, user_id, quote_id));
      await settle(server);
      expect((await show(server, invoice.id, seller.key)).status).toBe("paid");
    }
  });

  it("is not sent once the seller has named another account", async () => {
    const invoice = await bill(SELLER_OPTION);
    const { quote_id, answer } = await pay(invoice.id, seller_detail);
    const { id } = good(answer).offramps[0];
    const input = { paymentOptions: [BANK_OPTION] };
    good(await change(server, invoice.id, "changePaymentOptions", seller.key, input));
    good(await execute(server, user_id, quote_id));
    await settle(server);
    const path = `/users/${user_id}/offramps/${id}`;
    const { offramp } = good(await server.call("GET", path));
    expect(offramp.status).toBe("ongoing_checks");
    expect(offramp.status_message).toMatch(/^The invoice does not name this bank account\./);
    good(await server.call("POST", `${path}/refund`));
  });

  it("is not re-routed to another account", async () => {
    const invoice = await bill(SELLER_OPTION);
    const metadata = { sandbox_outcome: "bounced" };
    const { quote_id, answer } = await pay(invoice.id, seller_detail, { metadata });
    const { id } = good(answer).offramps[0];
    good(await execute(server, user_id, quote_id));
    await settle(server);
    const reroute = (payment_detail_id: string) =>
      server.call("POST", `/users/${user_id}/offramps/${id}/reroute`, {
        offramp: { payment_detail_id },
      });
    const refused = await reroute(own_detail);
    expectRefusal(refused, "record_invalid");
    expect(refused.body.errors).toMatchObject([{ field: "offramp.payment_detail_id" }]);
    good(await reroute(seller_detail));
    await settle(server);
    expect((await show(server, invoice.id, seller.key)).status).toBe("paid");
  });
});

describe("an invoice", () => {
  it("that names no bank account is not paid by an offramp", async () => {
    const wallet = {
      currencies: ["USDC-matic"],
      paymentInformation: { paymentAddress: `0x${"ab".repeat(20)}`, chain: "matic" },
    };
    const invoice = await bill({ type: "wallet", value: wallet });
    const { answer } = await pay(invoice.id, seller_detail);
    expectRefusal(answer, "record_invalid");
    expect(answer.body.errors[0].message).toMatch(/^The invoice names no bank account/);
  });

  it("must name every identifier that the rail pays by, in one payment option", async () => {
    const detail = await addPaymentDetail(server, user_id, "eur_swift");
    const iban = "DE89370400440532013000";
    const supporting_document_attributes = { submitted_url: "https://documents.test/a.pdf" };
    const swift = { rails: "swift", supporting_document_attributes };
    const other = bankOption({ iban: SELLER_IBAN, swiftBic: "DEUTDEFF" });
    const named = [[bankOption({ iban })], [bankOption({ iban }), other]];
    for (const options of named) {
      const { answer } = await pay((await bill(...options)).id, detail, swift);
      expectRefusal(answer, "record_invalid");
      expect(answer.body.errors).toMatchObject([{ field: FIELD }]);
    }
    const whole = await bill(bankOption({ iban, swiftBic: "DEUTDEFFXXX" }));
    good((await pay(whole.id, detail, swift)).answer);
  });

  it("names the bank, where the rail has no code of it", async () => {
    const account_number = "0012345678";
    const dop = { currency: "dop", iban: "", account_number, country: "DO", postal_code: "10101" };
    const holder = { account_type: "savings", document_number: "00112345678" };
    const detailAt = (bank_name: string) =>
      addPaymentDetail(server, user_id, "eur", { ...dop, ...holder, bank_name });
    const item = { name: "Work", currency: "DOP", quantity: 1, unitPrice: "100000" };
    const billAt = (bank: Record<string, string>) =>
      sendInvoice(server, seller, buyer, {
        invoiceItems: [{ ...item, tax: { type: "fixed", amount: "0" } }],
        paymentOptions: [bankOption({ accountNumber: account_number, ...bank }, "DOP")],
      });
    const in_dop = { destination_currency: "dop" };
    const sellers = await detailAt("Banco del Vendedor");
    const elsewhere = await detailAt("Banco del Comprador");
    const { id } = await billAt({ bankName: "BANCO DEL VENDEDOR" });
    expectRefusal((await pay(id, elsewhere, in_dop)).answer, "record_invalid");
    good((await pay(id, sellers, in_dop)).answer);
    const unnamed = await billAt({});
    expectRefusal((await pay(unnamed.id, sellers, in_dop)).answer, "record_invalid");
  });
});

it("an invoice must name the BIC by which a rail finds the bank, also where it is optional", () => {
  const fields = { currency: "xaf", rib_number: "12345", swift_bic: "ECOCCMCX" };
  const payee = { fields: fields as PaymentDetailFields, rail: "swift" as const };
  const problemFor = (...bics: string[]) =>
    payeeProblem(
      loadCatalogue(),
      [
        {
          ...{ accounts: new Set(["12345"]), bics: new Set(bics), bank_codes: new Set<string>() },
          ...{ bank_names: new Set<string>(), changed_at: null },
        },
      ],
      payee,
    );
  expect(problemFor("ECOCCMCX")).toBeNull();
  expect(problemFor()).toMatch(/^The invoice does not name this bank account\./);
  expect(problemFor("OTHRCMCX")).toMatch(/^The invoice does not name this bank account\./);
});
