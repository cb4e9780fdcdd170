import type { CallOptions } from "../api.ts";
import type { DownloadedFile } from "../download.ts";
import type { List } from "../list.ts";
import type { Body, Query, Schema } from "../types.ts";
import { Resource } from "./resource.ts";

const ONE = "/invoices/{invoice_id}";

export type Invoice = Schema<"Invoice">;
export type NewInvoice = Body<"post", "/invoices">;
export type InvoiceChange = Body<"post", `${typeof ONE}/changes`>;

/** Invoices and salaries, with an API key or an OAuth access token. */
export class Invoices extends Resource {
  /** With `convert: true` it is payable at once. */
  create(invoice: NewInvoice, options?: CallOptions): Promise<Invoice> {
    return this.api.send("post", "/invoices", { body: invoice }, options);
  }

  /** Makes a draft payable: it gets its `requestId`. */
  convert(invoice_id: string, options?: CallOptions): Promise<Invoice> {
    return this.api.send("post", ONE, { path: { invoice_id } }, options);
  }

  /** By its id, or any `requestId` it ever had. */
  show(invoice_id: string, options?: CallOptions): Promise<Invoice> {
    return this.api.send("get", ONE, { path: { invoice_id } }, options);
  }

  list(query: Query<"/invoices"> = {}, options?: CallOptions): List<Invoice> {
    return this.api.list("/invoices", "invoices", { query }, options);
  }

  /** Accept, reject (with `input.note`), cancel, or declare the payment. */
  change(invoice_id: string, change: InvoiceChange, options?: CallOptions): Promise<Invoice> {
    const input = { path: { invoice_id }, body: change };
    return this.api.send("post", `${ONE}/changes`, input, options);
  }

  pdf(invoice_id: string, options?: CallOptions): Promise<DownloadedFile> {
    return this.api.download(`${ONE}/pdf`, { path: { invoice_id } }, options);
  }
}
