import { afterEach, describe, expect, it } from "vitest";
import type { PrintedInvoice } from "../../src/invoices/load-pdf.ts";
import { createPdfPress, type PdfPress, type PressLimits } from "../../src/invoices/pdf-press.ts";

let press: PdfPress;
afterEach(() => press.close());

const open = (limits: Partial<PressLimits> = {}) => {
  press = createPdfPress({
    ...{ waiting_max: 2, kept_bytes_max: 1_000_000, idle_ms: 60_000, job_ms_max: 60_000 },
    ...limits,
  });
};

function printed(id: string, sequence = 1, ways_to_pay: PrintedInvoice["ways_to_pay"] = []) {
  const item = { name: "Work", currency: "EUR", quantity: 1, unitPrice: "100" };
  const invoice = {
    ...{ id, sequence, format: "svc_invoice", status: "open", currency: "EUR" },
    ...{ total: 100n, total_without_tax: 100n, updated_at: new Date(0) },
    document: {
      ...{ invoiceNumber: "1", creationDate: "2026-11-15", invoiceItems: [item] },
      ...{ buyerInfo: {}, sellerInfo: {}, paymentOptions: [] },
    },
  };
  return { invoice, ways_to_pay } as unknown as PrintedInvoice;
}

describe("the PDF press", () => {
  it("prints once what is asked for again, until invoice or bank account change", async () => {
    open();
    const [first, same] = await Promise.all([press.print(printed("a")), press.print(printed("a"))]);
    expect(first!.subarray(0, 5).toString()).toBe("%PDF-");
    expect(same).toBe(first);
    expect(await press.print(printed("a"))).toBe(first);
    expect(await press.print(printed("a", 2))).not.toBe(first);
    const ways = [{ title: "Bank", lines: [["IBAN", "DE89"] as [string, string]] }];
    expect(await press.print(printed("a", 1, ways))).not.toBe(first);
  });

  it("lets a few wait and tells the others when to come again", async () => {
    open();
    const all = await Promise.allSettled(
      ["a", "b", "c", "d", "e"].map((id) => press.print(printed(id))),
    );
    expect(all.map(({ status }) => status)).toEqual([
      ...["fulfilled", "fulfilled", "fulfilled", "rejected", "rejected"],
    ]);
    expect(all[4]).toMatchObject({ reason: { code: "unavailable", retry_after_seconds: 5 } });
    expect((await press.print(printed("e"))).length).toBeGreaterThan(1000);
  });

  it("gives back its thread and files when nobody prints, and prints again", async () => {
    open({ idle_ms: 20 });
    const first = await press.print(printed("a"));
    await new Promise((resolve) => setTimeout(resolve, 100));
    const again = await press.print(printed("a"));
    expect(again).not.toBe(first);
    expect(again.equals(first)).toBe(true);
  });

  it("keeps no more bytes than it may", async () => {
    open({ kept_bytes_max: 30_000 });
    const first = await press.print(printed("a"));
    for (const id of ["b", "c", "d"]) await press.print(printed(id));
    expect(await press.print(printed("a"))).not.toBe(first);
  });

  it("gives up a job that takes too long, or cannot be done, and goes on", async () => {
    open({ job_ms_max: 1 });
    await expect(press.print(printed("a"))).rejects.toThrow("took too long");
    await press.close();
    open();
    const broken = printed("a");
    broken.invoice.document.invoiceItems[0]!.unitPrice = "no number";
    await expect(press.print(broken)).rejects.toThrow();
    expect((await press.print(printed("b"))).length).toBeGreaterThan(1000);
  });
});
