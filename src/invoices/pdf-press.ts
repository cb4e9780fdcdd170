import { createHash } from "node:crypto";
import { Worker } from "node:worker_threads";
import { Refusal } from "../platform/errors.ts";
import type { PrintedInvoice } from "./load-pdf.ts";

/** Prints invoices away from the thread that answers requests. */
export type PdfPress = {
  /** `account_id` is whose share of the queue it takes. */
  print(printed: PrintedInvoice, account_id: string): Promise<Buffer>;
  /** Gives up at once what waits and what is being printed. */
  close(): Promise<void>;
};

export type PressLimits = {
  /** Jobs that wait while one is printed; what comes then is told to come again. */
  waiting_max: number;
  /** Of these, the jobs of one account: others are to find room. */
  waiting_by_account_max: number;
  /** Of all files that are kept for whoever asks again. */
  kept_bytes_max: number;
  /** After so long without a job, thread and files are given back. */
  idle_ms: number;
  /** A job that takes longer is given up. */
  job_ms_max: number;
};

const LIMITS: PressLimits = {
  waiting_max: 16,
  waiting_by_account_max: 4,
  kept_bytes_max: 8 * 1024 * 1024,
  idle_ms: 60_000,
  job_ms_max: 30_000,
};
const RETRY_AFTER_SECONDS = 5;
const THREAD_MEMORY_MB = 256;

type Job = {
  id: number;
  account_id: string;
  printed: PrintedInvoice;
  resolve: (bytes: Buffer) => void;
  reject: (error: unknown) => void;
};

/** What the thread is sent, and what it answers. */
export type PrintOrder = { job_id: number; printed: PrintedInvoice };
export type PrintResult = { job_id: number; bytes: Uint8Array };

export function createPdfPress(limits: PressLimits = LIMITS): PdfPress {
  const kept = keepFiles(limits.kept_bytes_max);
  const under_way = new Map<string, Promise<Buffer>>();
  const thread = openThread(limits, kept.clear);
  return {
    print: async (printed, account_id) => {
      const key = versionOf(printed);
      const found = kept.find(key);
      if (found) return found;
      // Whoever asks for the same waits for the same.
      const job = under_way.get(key) ?? thread.print(printed, account_id);
      under_way.set(key, job);
      try {
        const bytes = await job;
        kept.keep(key, bytes);
        return bytes;
      } finally {
        under_way.delete(key);
      }
    },
    close: thread.close,
  };
}

/** One job at a time, in a thread that is started when there is one. */
function openThread(limits: PressLimits, onIdle: () => void): PdfPress {
  const waiting: Job[] = [];
  let worker: Worker | null = null;
  let current: Job | null = null;
  let timer: NodeJS.Timeout | undefined;
  let last_id = 0;
  let is_closed = false;

  const stop = async (): Promise<void> => {
    clearTimeout(timer);
    onIdle();
    const stopped = worker;
    worker = null;
    await stopped?.terminate();
  };
  const finish = (settle: (job: Job) => void) => {
    clearTimeout(timer);
    const job = current;
    current = null;
    if (job) settle(job);
    next();
  };
  const fail = (from: Worker, error: unknown) => {
    if (from !== worker) return;
    worker = null;
    void from.terminate();
    finish((job) => job.reject(error));
  };
  const start = (): Worker => {
    const started = startWorker();
    started.on("message", ({ job_id, bytes }: PrintResult) => {
      // A thread that was given up may have been done all the same.
      if (started !== worker || job_id !== current?.id) return;
      finish((job) => job.resolve(Buffer.from(bytes)));
    });
    started.on("error", (error) => fail(started, error));
    started.on("exit", () => fail(started, new Error("the PDF thread ended")));
    return started;
  };
  const next = () => {
    if (current) return;
    clearTimeout(timer);
    current = waiting.shift() ?? null;
    if (!current) {
      timer = setTimeout(stop, limits.idle_ms).unref();
      return;
    }
    worker ??= start();
    const used = worker;
    const giveUp = () => fail(used, new Error("an invoice took too long to print"));
    timer = setTimeout(giveUp, limits.job_ms_max).unref();
    const order: PrintOrder = { job_id: current.id, printed: current.printed };
    used.postMessage(order);
  };

  return {
    print: async (printed, account_id) => {
      if (is_closed) throw new Refusal("unavailable", undefined, RETRY_AFTER_SECONDS);
      const own = waiting.filter((job) => job.account_id === account_id);
      if (waiting.length >= limits.waiting_max || own.length >= limits.waiting_by_account_max) {
        const message = "Too many invoices are being printed; wait a moment, then try again.";
        throw new Refusal("unavailable", message, RETRY_AFTER_SECONDS);
      }
      const { promise, resolve, reject } = Promise.withResolvers<Buffer>();
      last_id += 1;
      waiting.push({ id: last_id, account_id, printed, resolve, reject });
      next();
      return promise;
    },
    close: async () => {
      is_closed = true;
      const refused = [...(current ? [current] : []), ...waiting.splice(0)];
      current = null;
      for (const job of refused) {
        job.reject(new Refusal("unavailable", undefined, RETRY_AFTER_SECONDS));
      }
      await stop();
    },
  };
}

function startWorker(): Worker {
  const worker = new Worker(new URL("./pdf-worker.ts", import.meta.url), {
    resourceLimits: { maxOldGenerationSizeMb: THREAD_MEMORY_MB },
  });
  // Nobody waits for it when the process ends.
  worker.unref();
  return worker;
}

/** A bank account may be closed while the invoice stays as it is: then it is another file. */
function versionOf({ invoice, ways_to_pay }: PrintedInvoice): string {
  const ways = createHash("sha256").update(JSON.stringify(ways_to_pay)).digest("base64");
  return `${invoice.id} ${invoice.sequence} ${invoice.updated_at.getTime()} ${ways}`;
}

/** The files used last, as many as fit. */
function keepFiles(bytes_max: number) {
  const files = new Map<string, Buffer>();
  let bytes = 0;
  const drop = (key: string) => {
    bytes -= files.get(key)?.length ?? 0;
    files.delete(key);
  };
  const keep = (key: string, file: Buffer) => {
    drop(key);
    if (file.length > bytes_max) return;
    files.set(key, file);
    bytes += file.length;
    for (const oldest of files.keys()) {
      if (bytes <= bytes_max) break;
      drop(oldest);
    }
  };
  return {
    keep,
    find: (key: string): Buffer | undefined => {
      const file = files.get(key);
      if (file) keep(key, file);
      return file;
    },
    clear: () => {
      files.clear();
      bytes = 0;
    },
  };
}
