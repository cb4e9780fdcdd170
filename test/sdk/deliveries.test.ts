import { Sliproad, webhooks } from "@sliproad/sdk";
import { afterAll, beforeAll, expect, it } from "vitest";
import { answer, type ScriptedServer, startScriptedServer } from "../harness/scripted-http.ts";
import { startTestServer, type TestServer } from "../harness/server.ts";
import { waitFor } from "../harness/wait-for.ts";

let server: TestServer;
let receiver: ScriptedServer;
let sliproad: Sliproad;
beforeAll(async () => {
  [server, receiver] = await Promise.all([startTestServer(), startScriptedServer()]);
  sliproad = new Sliproad({ baseUrl: server.url, apiKey: server.key });
});
afterAll(async () => {
  await server.close();
  await receiver.close();
});

it("webhooks.verify accepts the service's requests under both schemes", async () => {
  receiver.play(answer(204, ""));
  const { app, webhook_secret } = await sliproad.apps.create({
    name: "Invented receiver",
    webhook_url: `${receiver.url}/hook`,
    events: ["offramp_update"],
  });
  const sent = await sliproad.sandbox.sendWebhook({
    webhook_type: "offramp_update",
    status: "fiat_sent",
  });
  expect(sent.deliveries).toBe(1);
  const [request] = await waitFor(() => receiver.requests[0]?.body && receiver.requests);
  const { body, headers } = request!;
  const event = await webhooks.verify(body!, headers, webhook_secret!, { scheme: "standard" });
  if (event.event !== "offramp_update") throw new Error(`not an offramp's event: ${event.event}`);
  expect(event.payload.offramp.status).toBe("fiat_sent");
  const only = { "x-webhook-signature": headers["x-webhook-signature"] };
  expect(await webhooks.verify(body!, only, webhook_secret!)).toEqual(event);
  const tampered = Buffer.from(body!.toString().replace("fiat_sent", "fiat_lost"));
  await expect(webhooks.verify(tampered, headers, webhook_secret!)).rejects.toThrow(/signature/);
  expect((await sliproad.apps.show(app.id)).name).toBe("Invented receiver");
});

it("invoices go from creation to acceptance", async () => {
  const invoice = await sliproad.invoices.create({
    invoiceNumber: `SDK-${crypto.randomUUID()}`,
    invoiceItems: [
      {
        name: "Invented work",
        currency: "USD",
        quantity: 2,
        unitPrice: "9999",
        tax: { type: "percentage", amount: "20" },
      },
    ],
    buyerInfo: { email: "buyer@example.com" },
    paymentOptions: [
      {
        type: "wallet",
        value: {
          currencies: ["USDC-matic"],
          paymentInformation: {
            paymentAddress: "0x5aaeb6053f3e94c9b9a09f33669435e7ef1beaed",
            chain: "matic",
          },
        },
      },
    ],
    convert: true,
  });
  expect(invoice).toMatchObject({ status: "open", total: "23998" });
  const accepted = await sliproad.sandbox.setInvoiceStatus(invoice.id, "accepted");
  expect(accepted.status).toBe("accepted");
  const numbers: string[] = [];
  for await (const { invoiceNumber } of sliproad.invoices.list({ take: 1 })) {
    numbers.push(invoiceNumber);
  }
  expect(numbers).toEqual([invoice.invoiceNumber]);
  const pdf = await sliproad.invoices.pdf(invoice.id);
  expect(new TextDecoder().decode((await pdf.bytes()).subarray(0, 5))).toBe("%PDF-");
  expect((await sliproad.me.show()).account.id).toBe(server.account_id);
});
