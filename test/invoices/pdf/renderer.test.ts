import { afterEach, describe, expect, it } from "vitest";
import type { PrintedInvoice } from "../../../src/invoices/pdf/load-pdf.ts";
import {
  createPdfRenderer,
  type PdfRenderer,
  type RendererLimits,
} from "../../../src/invoices/pdf/renderer.ts";

let renderer: PdfRenderer;
afterEach(() => renderer.close());

const open = (limits: Partial<RendererLimits> = {}) => {
  renderer = createPdfRenderer({
    ...{
      // One account may use half.
      waiting_max: 4,
      kept_bytes_max: 1_000_000,
      idle_ms: 60_000,
      job_ms_max: 60_000,
    },
    ...limits,
  });
};

const print = (invoice: PrintedInvoice, account_id = "one", gone?: AbortSignal) =>
  renderer.print(invoice, account_id, gone);

const idsOf = (count: number) => Array.from({ length: count }, (_, at) => `invoice ${at}`);

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

describe("the PDF renderer", () => {
  it("renders a repeated request once, until the invoice or the bank account changes", async () => {
    open();
    const [first, same] = await Promise.all([print(printed("a")), print(printed("a"))]);
    expect(first!.subarray(0, 5).toString()).toBe("%PDF-");
    expect(same).toBe(first);
    expect(await print(printed("a"))).toBe(first);
    expect(await print(printed("a", 2))).not.toBe(first);
    const ways = [{ title: "Bank", lines: [["IBAN", "DE89"] as [string, string]] }];
    expect(await print(printed("a", 1, ways))).not.toBe(first);
  });

  it("queues a few jobs and tells further callers when to retry", async () => {
    open();
    const all = await Promise.allSettled(["a", "b", "c", "d", "e"].map((id) => print(printed(id))));
    expect(all.map(({ status }) => status)).toEqual([
      ...["fulfilled", "fulfilled", "fulfilled", "rejected", "rejected"],
    ]);
    expect(all[4]).toMatchObject({ reason: { code: "unavailable", retry_after_seconds: 5 } });
    expect((await print(printed("e"))).length).toBeGreaterThan(1000);
  });

  it("frees its thread and files when idle, and renders again later", async () => {
    open({ idle_ms: 20 });
    const first = await print(printed("a"));
    await new Promise((resolve) => setTimeout(resolve, 100));
    const again = await print(printed("a"));
    expect(again).not.toBe(first);
    expect(again.equals(first)).toBe(true);
  });

  it("caches no more bytes than allowed", async () => {
    open({ kept_bytes_max: 30_000 });
    const first = await print(printed("a"));
    for (const id of ["b", "c", "d"]) await print(printed(id));
    expect(await print(printed("a"))).not.toBe(first);
  });

  it("renders small invoices while a large one takes its time", async () => {
    open();
    const large = printed("large");
    const [item] = large.invoice.document.invoiceItems;
    // Thousands of different characters: each hundred of them needs another font.
    const nameOf = (row: number) =>
      String.fromCodePoint(...Array.from({ length: 400 }, (_, at) => 0x4e00 + row * 40 + at));
    large.invoice.document.invoiceItems = Array.from({ length: 500 }, (_, row) => ({
      ...item!,
      name: nameOf(row),
    }));
    const first = await Promise.race([
      print(large).then(
        () => "large",
        () => "large",
      ),
      print(printed("small"), "two").then(() => "small"),
    ]);
    expect(first).toBe("small");
  });

  it("aborts a job that takes too long or fails, and continues", async () => {
    open({ job_ms_max: 1 });
    // A caller may try again; it is not an error of the service.
    const refusal = { code: "unavailable", message: expect.stringContaining("took too long") };
    await expect(print(printed("a"))).rejects.toMatchObject(refusal);
    await renderer.close();
    open();
    const broken = printed("a");
    broken.invoice.document.invoiceItems[0]!.unitPrice = "no number";
    await expect(print(broken)).rejects.toThrow();
    expect((await print(printed("b"))).length).toBeGreaterThan(1000);
  });

  it("keeps capacity for other accounts when one sends many jobs", async () => {
    open({ waiting_max: 12 });
    const greedy = idsOf(9).map((id) => print(printed(id)));
    const others = idsOf(3).map((id) => print(printed(`other ${id}`), "two"));
    const statuses = (await Promise.allSettled([...greedy, ...others])).map((end) => end.status);
    // One is being rendered; of the 12 places the account may use half.
    expect(statuses.slice(0, 9)).toEqual([
      ...Array(7).fill("fulfilled"),
      ...["rejected", "rejected"],
    ]);
    expect(statuses.slice(9)).toEqual(Array(3).fill("fulfilled"));
  });

  it("renders ten jobs of one account when no other account renders", async () => {
    renderer = createPdfRenderer();
    const files = await Promise.all(idsOf(10).map((id) => print(printed(id))));
    expect(files).toHaveLength(10);
  });

  it("serves accounts in turn: a single job waits only for the running one", async () => {
    renderer = createPdfRenderer();
    const done: string[] = [];
    const note = (id: string, account_id: string) =>
      print(printed(id), account_id).then(() => done.push(id));
    const many = idsOf(5).map((id) => note(id, "one"));
    const shared = note("invoice 4", "two");
    const single = note("single", "three");
    await Promise.all([...many, shared, single]);
    expect(done.slice(0, 3)).toEqual(["invoice 0", "invoice 4", "single"]);
    // Also when it had its turn just before the other began.
    const first = note("again 1", "three");
    const more = idsOf(5).map((id) => note(`more ${id}`, "one"));
    await first;
    await Promise.all([...more, note("again 2", "three")]);
    expect(done.slice(7, 10)).toEqual(["again 1", "more invoice 0", "again 2"]);
  });

  it("drops jobs whose callers have all disconnected, and has capacity again", async () => {
    open();
    const [one, two] = [new AbortController(), new AbortController()];
    const first = print(printed("a"));
    const left = [print(printed("b"), "one", one.signal), print(printed("c"), "one", one.signal)];
    const shared = print(printed("c"), "one", two.signal);
    const ends = Promise.allSettled(left);
    await expect(print(printed("d"))).rejects.toMatchObject({ code: "unavailable" });
    one.abort();
    const files = await Promise.all([first, shared, print(printed("d"))]);
    expect(files.every(({ length }) => length > 1000)).toBe(true);
    expect(await ends).toMatchObject([
      { status: "rejected", reason: { code: "unavailable" } },
      { status: "fulfilled" },
    ]);
    await expect(print(printed("e"), "one", one.signal)).rejects.toThrow("was cancelled");
    two.abort();
    expect((await print(printed("b"))).length).toBeGreaterThan(1000);
  });

  it("renders a job that is requested again after it was dropped", async () => {
    open();
    const hang_up = new AbortController();
    const first = print(printed("a"));
    const dropped = expect(print(printed("b"), "one", hang_up.signal)).rejects.toThrow("cancelled");
    hang_up.abort();
    const again = print(printed("b"));
    await dropped;
    expect((await again).length).toBeGreaterThan(1000);
    await first;
  });

  it("returns no result of an aborted thread", async () => {
    open();
    const expected = await print(printed("b"));
    const other = await print(printed("a", 1, MANY_WAYS));
    await renderer.close();
    expect(other.equals(expected)).toBe(false);
    open({ job_ms_max: 5_000 });
    await print(printed("warm"));
    const late = print(printed("a", 1, MANY_WAYS));
    const next = print(printed("b"));
    const given_up = expect(late).rejects.toThrow("took too long");
    // The thread finishes in time, but the main thread is blocked until the limit has passed.
    setImmediate(() => Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 5_200));
    await given_up;
    expect((await next).equals(expected)).toBe(true);
    expect((await print(printed("b"))).equals(expected)).toBe(true);
  });

  it("stops at once, with all waiting callers, and accepts no more", async () => {
    open();
    const jobs = [print(printed("a", 1, MANY_WAYS)), print(printed("b")), print(printed("c"))];
    const ends = Promise.allSettled(jobs);
    await renderer.close();
    const refused = { status: "rejected", reason: { code: "unavailable" } };
    expect(await ends).toMatchObject([refused, refused, refused]);
    await expect(print(printed("d"))).rejects.toMatchObject({ code: "unavailable" });
  });
});
