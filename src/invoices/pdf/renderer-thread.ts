import { buffer } from "node:stream/consumers";
import { parentPort } from "node:worker_threads";
import { writePdf } from "./pdf.ts";
import type { PrintOrder, PrintResult } from "./renderer.ts";

/** A thread of `createPdfRenderer`: renders the jobs it receives, one after the other. */
parentPort!.on("message", async ({ job_id, printed }: PrintOrder) => {
  const result: PrintResult = { job_id, bytes: await buffer(await writePdf(printed)) };
  parentPort!.postMessage(result);
});
