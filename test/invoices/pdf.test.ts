import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { addApprovedUser, addPaymentDetail } from "../harness/ramp.ts";
import { startTestServer, type TestServer } from "../harness/server.ts";
import { good } from "../offramps/story.ts";
import { create } from "./invoice-room.ts";
import { type Run, readPdf } from "./read-pdf.ts";

let server: TestServer;
beforeAll(async () => {
  server = await startTestServer();
});
afterAll(() => server.close());

async function download(id: string): Promise<{ answer: Response; pages: Run[][] }> {
  const answer = await fetch(`${server.url}/invoices/${id}/pdf`, {
    headers: { authorization: `Bearer ${server.key}` },
  });
  return { answer, pages: readPdf(Buffer.from(await answer.clone().arrayBuffer())) };
}

const textOf = (runs: readonly Run[]) => runs.map((run) => run.text).join("\n");

const FULL = {
  convert: true,
  invoiceNumber: "2026-0117",
  creationDate: "2026-11-15",
  invoiceItems: [
    {
      name: "Räder, Łódź, Ωμέγα, Софтуер",
      currency: "USD",
      quantity: 2,
      unitPrice: "9999",
      tax: { type: "percentage", amount: "20" },
    },
  ],
  sellerInfo: { email: "seller@example.com", businessName: "Seller Sample" },
  buyerInfo: {
    email: "buyer@example.com",
    businessName: "Zoë Widgets",
    taxRegistration: "DE123",
    address: { streetAddress: "Lange Straße 1", postalCode: "50667", city: "Köln", country: "DE" },
  },
  paymentTerms: { dueDate: "2026-12-15" },
  note: "Thank you",
};

describe("the PDF of an invoice", () => {
  it("is one page that says who owes whom how much for what, until when and where to", async () => {
    const user_id = await addApprovedUser(server);
    const paymentDetailId = await addPaymentDetail(server, user_id, "eur");
    const value = { currencies: ["EUR"], paymentInformation: { paymentDetailId } };
    const paymentOptions = [{ type: "bank-account", value }];
    const { id, requestId } = good(await create(server, { ...FULL, paymentOptions }));
    const { answer, pages } = await download(id);
    expect(answer.status).toBe(200);
    expect(answer.headers.get("content-type")).toBe("application/pdf");
    expect(answer.headers.get("content-disposition")).toContain(`invoice-${id}.pdf`);
    expect(pages).toHaveLength(1);
    const text = textOf(pages[0]!);
    for (const wanted of [
      ...["Invoice", "Open", "2026-0117", "2026-11-15", "2026-12-15", "Seller Sample"],
      ...["Zoë Widgets", "Lange Straße 1", "50667 Köln", "Germany", "Tax no. DE123"],
      ...["Räder, Łódź, Ωμέγα, Софтуер", "99.99", "20 %", "199.98", "40.00", "239.98 USD"],
      ...["Maria Invented", "DE89 3704 0044 0532 0130 00", "Thank you"],
    ]) {
      expect(text).toContain(wanted);
    }
    expect((await download(requestId)).answer.status).toBe(200);
  });

  it("flows to more pages with many items, repeats its head and never leaves the page", async () => {
    const name = "A rather long description that needs more than one line of the table ".repeat(2);
    const word = "x".repeat(150);
    const invoiceItems = Array.from({ length: 60 }, (_, at) => ({
      name: at === 0 ? word : `${at}: ${name}`.trim(),
      currency: "EUR",
      quantity: 1,
      unitPrice: "100",
    }));
    const note = "A line of the note that is long enough to be wrapped. ".repeat(80);
    const invoiceNumber = "long one";
    const more = { ...FULL, invoiceNumber, invoiceItems, note };
    const { id } = good(await create(server, more));
    const { pages } = await download(id);
    expect(pages.length).toBeGreaterThan(2);
    const last = pages.length;
    expect(textOf(pages[1]!)).toContain("Description");
    pages.forEach((runs, at) => {
      expect(textOf(runs)).toContain(`${at + 1} / ${last}`);
      for (const run of runs) {
        expect(run.x).toBeGreaterThanOrEqual(56);
        expect(run.x).toBeLessThan(540);
        expect(run.y).toBeLessThan(842 - 40);
      }
      const places = runs.map(({ x, y }) => `${x} ${y}`);
      expect(new Set(places).size, "texts lie on top of each other").toBe(places.length);
    });
    const text = pages.map(textOf).join("\n");
    expect(text).toContain("60.00 EUR");
    expect(text.replaceAll("\n", "")).toContain(word);
  });

  it("calls a salary by its name, and is no more than a draft before it is payable", async () => {
    const salary = { meta: { format: "svc_salary" }, sellerInfo: { email: "eva@example.com" } };
    const { id } = good(await create(server, salary));
    const { pages } = await download(id);
    const text = textOf(pages[0]!);
    for (const wanted of ["Salary", "Draft", "EMPLOYEE", "EMPLOYER", "1,000.00 EUR"]) {
      expect(text).toContain(wanted);
    }
  });

  it("shows that there is what its fonts cannot draw, with the e-mail beside it", async () => {
    const buyerInfo = { email: "mei@example.com", businessName: "株式会社 Aé 👩‍👩‍👧" };
    const { id } = good(await create(server, { buyerInfo }));
    const text = textOf((await download(id)).pages[0]!);
    expect(text).toContain("□□□□ Aé □");
    expect(text).toContain("mei@example.com");
  });

  it("writes small and large numbers out, each on one line", async () => {
    const item = { name: "Dust", currency: "USDC-arbitrum-one" };
    const invoiceItems = [
      { ...item, quantity: 0.0000001, unitPrice: "20000000" },
      { ...item, quantity: 1, unitPrice: "999999999999000" },
    ];
    const { id } = good(await create(server, { invoiceItems }));
    const runs = (await download(id)).pages[0]!.map(({ text }) => text);
    expect(runs).toContain("0.0000001");
    expect(runs.filter((text) => text === "999,999,999.999000")).toHaveLength(2);
    expect(runs).toContain("999,999,999.999002 USDC-arbitrum-one");
  });
});
