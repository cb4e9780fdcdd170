import { once } from "node:events";
import { monitorEventLoopDelay } from "node:perf_hooks";
import { afterAll, beforeAll, describe, expect, it, vi } from "vitest";
import { addApprovedUser, addPaymentDetail } from "../../harness/ramp.ts";
import { startTestServer, type TestServer } from "../../harness/server.ts";
import { good } from "../../offramps/story.ts";
import { create } from "../invoice-fixture.ts";
import { type Run, readPdf } from "./read-pdf.ts";

let server: TestServer;
beforeAll(async () => {
  server = await startTestServer();
});
afterAll(() => server.close());

const WARN = 40;

function fetchPdf(
  id: string,
  accept = "*/*",
  from = server,
  signal: AbortSignal | null = null,
): Promise<Response> {
  const headers = { authorization: `Bearer ${from.key}`, accept };
  return fetch(`${from.url}/invoices/${id}/pdf`, { headers, signal });
}

async function createMany(at: TestServer, count: number, invoiceItems: unknown[]) {
  const ids: string[] = [];
  for (let index = 0; index < count; index += 1) {
    const invoiceNumber = `${index} with ${invoiceItems.length} at once`;
    ids.push(good(await create(at, { ...FULL, invoiceNumber, invoiceItems })).id);
  }
  return ids;
}

async function download(id: string): Promise<{ answer: Response; pages: Run[][] }> {
  const answer = await fetchPdf(id);
  return { answer, pages: readPdf(Buffer.from(await answer.clone().arrayBuffer())) };
}

/** The longest time, in milliseconds, that the event loop was blocked until a promise settled. */
async function watchLoop(until: Promise<unknown>): Promise<{ max: number }> {
  const histogram = monitorEventLoopDelay({ resolution: 5 });
  histogram.enable();
  await until;
  histogram.disable();
  return { max: histogram.max / 1e6 };
}

/** The text of each line, across fonts, from left to right. */
function linesOf(runs: readonly Run[]): string[] {
  const lines: { y: number; end: number; text: string }[] = [];
  for (const { text, x, y } of runs) {
    const line = lines.at(-1);
    const goes_on = line && Math.abs(line.y - y) < 0.1 && x > line.end;
    if (goes_on) Object.assign(line, { end: x, text: line.text + text });
    else lines.push({ y, end: x, text });
  }
  return lines.map(({ text }) => text);
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
  it.each([
    ["application/pdf", 200],
    ["application/octet-stream", 200],
    ["text/html, application/pdf;q=0.9", 200],
    ["application/json", 200],
    ["application/*", 200],
    ["text/html", 400],
    ["text/csv", 400],
  ])("with Accept: %s the response is %d", async (accept, status) => {
    const invoice = good(await create(server, { ...FULL, invoiceNumber: `for ${accept}` }));
    expect((await fetchPdf(invoice.id, accept)).status).toBe(status);
  });

  it("is one page with the parties, the amount, the items, the due date and how to pay", async () => {
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

  it("continues on more pages with many items, repeats its header and stays within the page", async () => {
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

  it("is titled as a salary where it is one, and as a draft before it is payable", async () => {
    const salary = { meta: { format: "svc_salary" }, sellerInfo: { email: "eva@example.com" } };
    const { id } = good(await create(server, salary));
    const { pages } = await download(id);
    const text = textOf(pages[0]!);
    for (const wanted of ["Salary", "Draft", "EMPLOYEE", "EMPLOYER", "1,000.00 EUR"]) {
      expect(text).toContain(wanted);
    }
  });

  it("shows a box for what its fonts cannot draw, with the e-mail next to it", async () => {
    const buyerInfo = { email: "mei@example.com", businessName: "株式会社 Aé 👩‍👩‍👧👍" };
    const { id } = good(await create(server, { buyerInfo }));
    const runs = (await download(id)).pages[0]!;
    expect(linesOf(runs)).toContain("株式会社 Aé □□");
    expect(textOf(runs)).toContain("mei@example.com");
  });

  it.each([
    ["simplified Chinese", "CN", "北京示例科技有限公司"],
    ["traditional Chinese", "TW", "臺灣範例科技股份有限公司"],
    ["Japanese", "JP", "株式会社サンプル・さくら「東京」"],
    ["Korean", "KR", "주식회사 예시기술"],
    ["Thai", "TH", "บริษัท ตัวอย่าง จำกัด"],
    ["Devanagari", "IN", "उदाहरण प्रौद्योगिकी"],
  ])("prints names in %s, with a subset of their font embedded", async (_name, country, name) => {
    const buyerInfo = { email: "buyer@example.com", businessName: name, address: { country } };
    const { id } = good(await create(server, { buyerInfo, note: `${name} + Łódź 100 %` }));
    const { answer, pages } = await download(id);
    const lines = linesOf(pages[0]!);
    expect(lines.join()).not.toContain("□");
    // Glyphs of Devanagari may combine several letters, or be in another order than these.
    const printed = lines.map((line) => line.normalize("NFKC"));
    if (country !== "IN") expect(printed).toContain(name.normalize("NFKC"));
    const fonts = pages[0]!.flatMap(({ font }) => (font.includes("Noto") ? font : []));
    expect(fonts.length).toBeGreaterThan(1);
    expect((await answer.arrayBuffer()).byteLength).toBeLessThan(150_000);
  });

  it("puts a Thai tone mark above the ring of the vowel after it", async () => {
    const { id } = good(await create(server, { note: "น้ำ" }));
    expect(linesOf((await download(id)).pages[0]!)).toContain("น\u0e4d\u0e49\u0e32");
  });

  it("shapes Devanagari: a vowel is drawn before its letter, two letters are one", async () => {
    const { id } = good(await create(server, { note: "हि क्ष" }));
    const runs = (await download(id)).pages[0]!.filter(({ font }) => font.includes("Noto"));
    // The vowel sign of हि is read after the letter and drawn before it.
    expect(runs[0]!.text).toBe("िह");
    expect(runs[1]!.text).toBe("क्ष");
  });

  it("breaks lines of Chinese and Thai between words, and never before closing punctuation", async () => {
    const note = `${"北京示例科技有限公司，".repeat(12)}\n${"บริษัทตัวอย่างจำกัด".repeat(12)}`;
    const { id } = good(await create(server, { note }));
    const lines = linesOf((await download(id)).pages[0]!);
    const long = lines.filter((line) => line.length > 30);
    expect(long.length).toBeGreaterThan(4);
    for (const line of long) expect(line).not.toMatch(/^[，\u0e31\u0e34-\u0e3a\u0e47-\u0e4e]/);
  });

  it("writes Hebrew and Arabic from right to left, but numbers and Latin among them not", async () => {
    const item = { currency: "EUR", quantity: 1, unitPrice: "100" };
    const invoiceItems = [{ ...item, name: "שלום עולם (3 שעות) GmbH" }];
    const { id } = good(await create(server, { invoiceItems, note: "one\ttwo" }));
    const runs = (await download(id)).pages[0]!;
    // In visual order, from left to right.
    expect(textOf(runs)).toContain("GmbH (תועש 3) םלוע םולש");
    expect(textOf(runs)).toContain("one two");
  });

  it("shows the cost of paying late", async () => {
    const paymentTerms = { lateFeesPercent: 2.5, lateFeesFix: "1500", miscellaneous: "Net 30" };
    const { id } = good(await create(server, { paymentTerms, terms: "No returns" }));
    const text = textOf((await download(id)).pages[0]!);
    expect(text).toContain("No returns\nNet 30\nLate fees: 2.5 % plus 15.00 EUR");
  });

  it("does not block other requests while many large ones are rendered", async () => {
    const name = "long words here ".repeat(24).trim();
    const items = Array.from({ length: 500 }, () => ({
      ...{ name, currency: "EUR", quantity: 1, unitPrice: "100" },
    }));
    const { id } = good(await create(server, { invoiceItems: items }));
    const files = Promise.all(Array.from({ length: 8 }, () => fetchPdf(id)));
    const { max } = await watchLoop(files);
    expect((await files).map(({ status }) => status)).toEqual(Array(8).fill(200));
    expect(max).toBeLessThan(400);
  });

  it("writes small and large numbers in full, each on one line", async () => {
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

  it("is rendered for ten concurrent callers when no other account renders", async () => {
    const ids = await createMany(server, 10, FULL.invoiceItems);
    const answers = await Promise.all(ids.map((id) => fetchPdf(id)));
    expect(answers.map(({ status }) => status)).toEqual(Array(10).fill(200));
  });

  it("is not rendered for a caller who disconnected while waiting", async () => {
    const lines: string[] = [];
    const log_destination = { write: (line: string) => void lines.push(line) };
    const logged = await startTestServer({ log_destination });
    try {
      const [large] = await createMany(logged, 1, Array(500).fill(FULL.invoiceItems[0]));
      const [small] = await createMany(logged, 1, FULL.invoiceItems);
      const { server: http } = logged.app.server;
      const hang_up = new AbortController();
      const printed = fetchPdf(large!, "*/*", logged);
      await once(http, "request");
      const left = fetchPdf(small!, "*/*", logged, hang_up.signal);
      await once(http, "request");
      hang_up.abort();
      await expect(left).rejects.toThrow("aborted");
      expect((await printed).status).toBe(200);
      await vi.waitFor(() => expect(lines.join("")).toContain("was cancelled"));
    } finally {
      await logged.close();
    }
  });

  it("does not delay a shutdown: waiting callers are asked to retry, which is not an error", async () => {
    const lines: string[] = [];
    const log_destination = { write: (line: string) => void lines.push(line) };
    const stopping = await startTestServer({ log_destination });
    const ids = await createMany(stopping, 5, Array(500).fill(FULL.invoiceItems[0]));
    const answers = ids.map((id) => fetchPdf(id, "*/*", stopping));
    await new Promise((resolve) => setTimeout(resolve, 100));
    await stopping.close();
    const statuses = (await Promise.all(answers)).map(({ status }) => status);
    expect(statuses.filter((status) => status === 503).length).toBeGreaterThan(2);
    const refused = lines.filter((line) => line.includes('"error_code":"unavailable"'));
    expect(refused.length).toBeGreaterThan(2);
    for (const line of refused) expect(JSON.parse(line)).toMatchObject({ level: WARN });
    expect(lines.filter((line) => line.includes('"stack"'))).toEqual([]);
  });
});
