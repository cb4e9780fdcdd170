import { createHash } from "node:crypto";
import { extname } from "node:path";
import { Worker } from "node:worker_threads";
import { Refusal } from "../../platform/errors.ts";
import type { PrintedInvoice } from "./load-pdf.ts";
import { createPdfQueue } from "./queue.ts";

/** Renders invoices outside the thread that answers requests. */
export type PdfRenderer = {
  /**
   * `account_id` is the account whose share of the queue it uses; `gone` fires when the caller has
   * disconnected: a job without callers is not rendered.
   */
  print(printed: PrintedInvoice, account_id: string, gone?: AbortSignal): Promise<Buffer>;
  /** Aborts waiting and running jobs at once. */
  close(): Promise<void>;
};

export type RendererLimits = {
  /** Jobs that wait while one is rendered; further callers are asked to retry later. */
  waiting_max: number;
  /** Total size of the files cached for repeated requests. */
  kept_bytes_max: number;
  /** After this long without a job, the thread ends and cached files are freed. */
  idle_ms: number;
  /** A job that takes longer is aborted. */
  job_ms_max: number;
};

const LIMITS: RendererLimits = {
  waiting_max: 256,
  kept_bytes_max: 8 * 1024 * 1024,
  idle_ms: 60_000,
  job_ms_max: 30_000,
};
const RETRY_AFTER_SECONDS = 5;
const THREAD_MEMORY_MB = 256;
/** Each character is measured and drawn, and different ones may each need a font of their own. */
const SMALL_CHARACTERS_MAX = 20_000;
const SMALL_DIFFERENT_MAX = 300;

type Job = {
  id: number;
  account_id: string;
  printed: PrintedInvoice;
  resolve: (bytes: Buffer) => void;
  reject: (error: unknown) => void;
};

type PrintJob = {
  bytes: Promise<Buffer>;
  /** Removes it from the queue; false when it is being rendered, or done. */
  drop: () => boolean;
};
type SharedJob = PrintJob & { callers: number };
type PdfThread = {
  print(printed: PrintedInvoice, account_id: string): PrintJob;
  close(): Promise<void>;
};

/** The messages to the thread and from it. */
export type PrintOrder = { job_id: number; printed: PrintedInvoice };
export type PrintResult = { job_id: number; bytes: Uint8Array };

export function createPdfRenderer(limits: RendererLimits = LIMITS): PdfRenderer {
  const kept = keepFiles(limits.kept_bytes_max);
  const under_way = new Map<string, SharedJob>();
  // Large invoices have a thread of their own: nobody waits for one with a small invoice.
  const small = openThread(limits, kept.clear);
  const large = openThread(limits, kept.clear);

  const begin = (name: string, version: string, printed: PrintedInvoice, account_id: string) => {
    const thread = isLarge(printed) ? large : small;
    const job = { ...thread.print(printed, account_id), callers: 0 };
    under_way.set(name, job);
    const end = () => {
      if (under_way.get(name) === job) under_way.delete(name);
    };
    job.bytes.then((bytes) => kept.keep(version, bytes)).then(end, end);
    return job;
  };
  return {
    print: async (printed, account_id, gone) => {
      const version = versionOf(printed);
      const found = kept.find(version);
      if (found) return found;
      if (gone?.aborted) throw hungUp();
      // Requests for the same file share one job, but not in another account's queue.
      const name = `${account_id} ${version}`;
      const job = under_way.get(name) ?? begin(name, version, printed, account_id);
      job.callers += 1;
      const leave = () => {
        job.callers -= 1;
        // A later request must not join a dropped job.
        if (job.callers === 0 && job.drop()) under_way.delete(name);
      };
      gone?.addEventListener("abort", leave, { once: true });
      try {
        return await job.bytes;
      } finally {
        gone?.removeEventListener("abort", leave);
      }
    },
    close: async () => void (await Promise.all([small.close(), large.close()])),
  };
}

function tooMany(): Refusal {
  const message = "Too many PDFs are being created; wait a moment, then try again.";
  return new Refusal("unavailable", message, RETRY_AFTER_SECONDS);
}

/** On a busy machine the next try may succeed; nothing is wrong with this service otherwise. */
function tooSlow(): Refusal {
  const message = "This PDF took too long to create; wait a moment, then try again.";
  return new Refusal("unavailable", message, RETRY_AFTER_SECONDS);
}

function stopping(): Refusal {
  return new Refusal("unavailable", undefined, RETRY_AFTER_SECONDS);
}

function hungUp(): Refusal {
  return new Refusal("unavailable", "The request for this PDF was cancelled.");
}

/** One job at a time, in a thread that is started on demand. */
function openThread(limits: RendererLimits, onIdle: () => void): PdfThread {
  const queue = createPdfQueue<Job>(limits.waiting_max);
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
      // An aborted thread may still have sent its result.
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
    current = queue.take() ?? null;
    if (!current) {
      timer = setTimeout(stop, limits.idle_ms).unref();
      return;
    }
    worker ??= start();
    const used = worker;
    const giveUp = () => fail(used, tooSlow());
    timer = setTimeout(giveUp, limits.job_ms_max).unref();
    const order: PrintOrder = { job_id: current.id, printed: current.printed };
    used.postMessage(order);
  };

  return {
    print: (printed, account_id) => {
      if (is_closed) throw stopping();
      const { promise: bytes, resolve, reject } = Promise.withResolvers<Buffer>();
      last_id += 1;
      const job: Job = { id: last_id, account_id, printed, resolve, reject };
      if (!queue.add(job)) throw tooMany();
      next();
      const drop = () => {
        const was_waiting = queue.remove(job);
        if (was_waiting) reject(hungUp());
        return was_waiting;
      };
      return { bytes, drop };
    },
    close: async () => {
      is_closed = true;
      const refused = [...(current ? [current] : []), ...queue.takeAll()];
      current = null;
      for (const job of refused) job.reject(stopping());
      await stop();
    },
  };
}

function startWorker(): Worker {
  // Next to this file, which is TypeScript in a clone and JavaScript in the published package.
  const file = `./renderer-thread${extname(import.meta.url)}`;
  const worker = new Worker(new URL(file, import.meta.url), {
    resourceLimits: { maxOldGenerationSizeMb: THREAD_MEMORY_MB },
  });
  // The thread does not keep the process alive.
  worker.unref();
  return worker;
}

function isLarge({ invoice }: PrintedInvoice): boolean {
  const text = JSON.stringify(invoice.document);
  return text.length > SMALL_CHARACTERS_MAX || new Set(text).size > SMALL_DIFFERENT_MAX;
}

/** A bank account may be closed while the invoice is unchanged: then it is another file. */
function versionOf({ invoice, ways_to_pay }: PrintedInvoice): string {
  const ways = createHash("sha256").update(JSON.stringify(ways_to_pay)).digest("base64");
  return `${invoice.id} ${invoice.sequence} ${invoice.updated_at.getTime()} ${ways}`;
}

/** The most recently used files, as many as fit. */
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
