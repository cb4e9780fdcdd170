import { SliproadError } from "./errors.ts";

export type Fetch = typeof globalThis.fetch;

export type HttpRequest = {
  method: string;
  url: string;
  headers: Record<string, string>;
  /** Makes the body of one attempt; undefined where there is none. */
  makeBody?: (() => RequestBody) | undefined;
};

/** A stream's content type stands here; FormData brings its own. */
export type RequestBody = {
  content: FormData | ReadableStream<Uint8Array<ArrayBuffer>> | string;
  type?: string;
  /** What the source of a stream has failed with: the caller's error, not the net's. */
  failure?: () => unknown;
  /** Lets go of a source that was not read to its end. */
  close?: () => void;
};

export type HttpLimits = { fetch: Fetch; timeout_ms: number; signal: AbortSignal | null };

/**
 * One request and what `read` makes of its answer. The time limit covers both, so that an answer
 * that stops in the middle does not hang. Whatever goes wrong between here and there becomes
 * `connection_failed` or `timed_out`; an abort by the caller stays the caller's own reason.
 */
export async function attempt<Result>(
  request: HttpRequest,
  { fetch, timeout_ms, signal }: HttpLimits,
  read: (answer: Response) => Promise<Result>,
  is_streamed = false,
): Promise<Result> {
  signal?.throwIfAborted();
  const body = request.makeBody?.();
  const control = new AbortController();
  const stop = () => control.abort(signal?.reason);
  signal?.addEventListener("abort", stop, { once: true });
  let is_late = false;
  const timer = setTimeout(() => {
    is_late = true;
    control.abort();
  }, timeout_ms);
  try {
    return await read(await fetch(request.url, toInit(request, body, control.signal)));
  } catch (error) {
    signal?.throwIfAborted();
    const failure = body?.failure?.();
    if (failure !== undefined) throw failure;
    if (error instanceof SliproadError) throw error;
    const details = { cause: error, idempotency_key: request.headers["idempotency-key"] ?? null };
    if (is_late)
      throw new SliproadError("timed_out", `No answer within ${timeout_ms} ms.`, details);
    const message = `The connection to ${new URL(request.url).origin} failed.`;
    throw new SliproadError("connection_failed", message, details);
  } finally {
    body?.close?.();
    clearTimeout(timer);
    // An answer that is handed on as a stream can still be aborted while it is read.
    if (!is_streamed) signal?.removeEventListener("abort", stop);
  }
}

function toInit(request: HttpRequest, body: RequestBody | undefined, signal: AbortSignal) {
  const init = {
    method: request.method,
    headers: { ...request.headers, ...(body?.type ? { "content-type": body.type } : {}) },
    signal,
    // A redirect would turn a POST into a GET, or take the key to another host.
    redirect: "manual" as const,
  };
  // "half": the body may be a stream that is still being read while it is sent.
  return body ? { ...init, body: body.content, duplex: "half" as const } : init;
}
