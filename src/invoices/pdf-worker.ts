import { buffer } from "node:stream/consumers";
import { parentPort } from "node:worker_threads";
import type { PrintedInvoice } from "./load-pdf.ts";
import { writePdf } from "./pdf.ts";

/** A thread of `createPdfPress`: prints what it is sent, one after the other. */
parentPort!.on("message", async (printed: PrintedInvoice) => {
  const bytes = await buffer(writePdf(printed));
  parentPort!.postMessage(bytes);
});
