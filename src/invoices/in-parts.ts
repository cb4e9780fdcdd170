import type { Session } from "../platform/db/database.ts";
import { type InvoiceKey, listInvoiceSizes } from "./store.ts";

/** Opened at once, in some ten milliseconds. */
const OPENED_BYTES_MAX = 2_000_000;

type Part = { keys: InvoiceKey[]; bytes: number };

/** Invoices to be opened part by part: 500 may be named at once, each of a megabyte. */
export async function inParts(session: Session, keys: readonly InvoiceKey[]): Promise<Part[]> {
  const parts: Part[] = [];
  for (const { account_id, id, bytes } of await listInvoiceSizes(session, keys)) {
    let last = parts.at(-1);
    if (!last || last.bytes + bytes > OPENED_BYTES_MAX) {
      last = { keys: [], bytes: 0 };
      parts.push(last);
    }
    last.keys.push({ account_id, id });
    last.bytes += bytes;
  }
  return parts;
}
