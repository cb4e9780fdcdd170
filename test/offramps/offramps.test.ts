import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { addApprovedUser, addPaymentDetail, addQuote, execute } from "../harness/ramp.ts";
import { startTestServer, type TestServer } from "../harness/server.ts";
import { waitFor } from "../harness/wait-for.ts";

let server: TestServer;
beforeAll(async () => {
  server = await startTestServer();
});
afterAll(() => server.close());

describe("offramps", () => {
  it("creates the sample of the interface document with the values it states", async () => {
    const user_id = await addApprovedUser(server);
    const usd = await addPaymentDetail(server, user_id, "usd_swift");
    const eur = await addPaymentDetail(server, user_id, "eur");
    const quote_id = await addQuote(server, user_id);
    const made = await server.call("POST", `/users/${user_id}/quotes/${quote_id}/offramps`, {
      offramps: [
        {
          payment_detail_id: usd,
          destination_amount: 19000,
          destination_currency: "usd",
          rails: "swift",
          reference: "Invoice 7",
          supporting_document_attributes: { submitted_url: "https://files.test/invoice.pdf" },
          metadata: { custom_key: "custom_value" },
        },
        {
          payment_detail_id: eur,
          destination_amount: 1000,
          destination_currency: "eur",
          rails: "swift",
          supporting_document_attributes: null,
        },
      ],
    });
    expect(made.status, made.text).toBe(200);
    expect(made.body.offramps).toMatchObject([
      {
        rails: "swift",
        status: "initiated",
        status_message: null,
        supporting_document: {
          submitted_url: "https://files.test/invoice.pdf",
          status: "not_checked",
        },
        fee: 125,
        metadata: { custom_key: "custom_value" },
      },
      { rails: "local", supporting_document: null, metadata: {}, fee: 4 },
    ]);
  });

  it("leads from a quote to money in the bank", async () => {
    const user_id = await addApprovedUser(server);
    const eur = await addPaymentDetail(server, user_id, "eur");
    const quote_id = await addQuote(server, user_id);
    const made = await server.call("POST", `/users/${user_id}/quotes/${quote_id}/offramps`, {
      offramps: [
        { payment_detail_id: eur, destination_amount: "1000.50", destination_currency: "EUR" },
      ],
    });
    expect(made.status, made.text).toBe(200);
    const executed = await execute(server, user_id, quote_id);
    expect(executed.status, executed.text).toBe(200);
    expect(executed.body.quote.executed).toBe(true);
    const { id } = made.body.offramps[0];
    const path = `/users/${user_id}/offramps/${id}`;
    const waiting = await waitFor(async () => {
      const answer = await server.call("GET", path);
      return answer.body.offramp.status === "ongoing_checks" && answer;
    });
    expect(waiting.body.offramp.status_message).toMatch(/needs a supporting document/);
    const form = new FormData();
    const file = new Blob(["%PDF-1.4 an invented invoice"], { type: "application/pdf" });
    form.set("file", file, "invoice.pdf");
    const uploaded = await fetch(`${server.url}/offramps/${id}/supporting-documents`, {
      method: "POST",
      headers: { authorization: `Bearer ${server.key}` },
      body: form,
    });
    expect(uploaded.status, await uploaded.clone().text()).toBe(200);
    const shown = await waitFor(async () => {
      const answer = await server.call("GET", path);
      return answer.body.offramp.status === "fiat_sent" && answer;
    });
    const url = shown.body.offramp.supporting_document.submitted_url;
    const served = await fetch(url, { headers: { authorization: `Bearer ${server.key}` } });
    expect(await served.text()).toBe("%PDF-1.4 an invented invoice");
    expect(served.headers.get("content-disposition")).toMatch(/^attachment/);
    expect(shown.body.offramp.payout_reference.end_to_end_id).toMatch(/^[0-9a-f]{32}001$/);
  });
});
