import { afterEach, describe, expect, it } from "vitest";
import type { PrintedInvoice } from "../../src/invoices/load-pdf.ts";
import { createPdfPress, type PdfPress, type PressLimits } from "../../src/invoices/pdf-press.ts";

let press: PdfPress;
afterEach(() => press.close());

const open = (limits: Partial<PressLimits> = {}) => {
  press = createPdfPress({
    ...{
      waiting_max: 2,
      waiting_by_account_max: 2,
      kept_bytes_max: 1_000_000,
      idle_ms: 60_000,
      job_ms_max: 60_000,
    },
    ...limits,
  });
};

const print = (invoice: PrintedInvoice, account_id = "one") => press.print(invoice, account_id);

const MANY_WAYS: PrintedInvoice["ways_to_pay"] = Array.from({ length: 50 }, () => ({
  title: "Bank",
  lines: [["IBAN", "DE89"]],
}));

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
    const [first, same] = await Promise.all([print(printed("a")), print(printed("a"))]);
    expect(first!.subarray(0, 5).toString()).toBe("%PDF-");
    expect(same).toBe(first);
    expect(await print(printed("a"))).toBe(first);
    expect(await print(printed("a", 2))).not.toBe(first);
    const ways = [{ title: "Bank", lines: [["IBAN", "DE89"] as [string, string]] }];
    expect(await print(printed("a", 1, ways))).not.toBe(first);
  });

  it("lets a few wait and tells the others when to come again", async () => {
    open();
    const all = await Promise.allSettled(["a", "b", "c", "d", "e"].map((id) => print(printed(id))));
    expect(all.map(({ status }) => status)).toEqual([
      ...["fulfilled", "fulfilled", "fulfilled", "rejected", "rejected"],
    ]);
    expect(all[4]).toMatchObject({ reason: { code: "unavailable", retry_after_seconds: 5 } });
    expect((await print(printed("e"))).length).toBeGreaterThan(1000);
  });

  it("gives back its thread and files when nobody prints, and prints again", async () => {
    open({ idle_ms: 20 });
    const first = await print(printed("a"));
    await new Promise((resolve) => setTimeout(resolve, 100));
    const again = await print(printed("a"));
    expect(again).not.toBe(first);
    expect(again.equals(first)).toBe(true);
  });

  it("keeps no more bytes than it may", async () => {
    open({ kept_bytes_max: 30_000 });
    const first = await print(printed("a"));
    for (const id of ["b", "c", "d"]) await print(printed(id));
    expect(await print(printed("a"))).not.toBe(first);
  });

  it("gives up a job that takes too long, or cannot be done, and goes on", async () => {
    open({ job_ms_max: 1 });
    await expect(print(printed("a"))).rejects.toThrow("took too long");
    await press.close();
    open();
    const broken = printed("a");
    broken.invoice.document.invoiceItems[0]!.unitPrice = "no number";
    await expect(print(broken)).rejects.toThrow();
    expect((await print(printed("b"))).length).toBeGreaterThan(1000);
  });

  it("keeps room for other accounts when one asks for many", async () => {
    open({ waiting_max: 8, waiting_by_account_max: 2 });
    const greedy = ["a", "b", "c", "d", "e"].map((id) => print(printed(id)));
    const other = print(printed("f"), "two");
    const all = await Promise.allSettled([...greedy, other]);
    expect(all.map(({ status }) => status)).toEqual([
      ...["fulfilled", "fulfilled", "fulfilled", "rejected", "rejected", "fulfilled"],
    ]);
  });

  it("hands nobody what a thread prints that was given up", async () => {
    open();
    const expected = await print(printed("b"));
    const other = await print(printed("a", 1, MANY_WAYS));
    await press.close();
    expect(other.equals(expected)).toBe(false);
    open({ job_ms_max: 2_000 });
    await print(printed("warm"));
    const late = print(printed("a", 1, MANY_WAYS));
    const next = print(printed("b"));
    const given_up = expect(late).rejects.toThrow("took too long");
    // The thread is done in time, but nobody looks before the time is over.
    setImmediate(() => Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 2_200));
    await given_up;
    expect((await next).equals(expected)).toBe(true);
    expect((await print(printed("b"))).equals(expected)).toBe(true);
  });

  it("stops at once, with whoever waits, and takes no more", async () => {
    open();
    const jobs = [print(printed("a", 1, MANY_WAYS)), print(printed("b")), print(printed("c"))];
    const ends = Promise.allSettled(jobs);
    await press.close();
    const refused = { status: "rejected", reason: { code: "unavailable" } };
    expect(await ends).toMatchObject([refused, refused, refused]);
    await expect(print(printed("d"))).rejects.toMatchObject({ code: "unavailable" });
  });
});
