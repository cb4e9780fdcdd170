import { SliproadError } from "./errors.ts";
import { type Limit, startLimit } from "./limit.ts";

export type Fetch = typeof globalThis.fetch;

export type HttpRequest = {
  method: string;
  url: string;
  headers: Record<string, string>;
  /** The value of the header; asked for before every attempt. */
  authorize: () => Promise<string>;
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

/** An answer that has arrived whole. */
export type WholeAnswer = { ok: boolean; status: number; headers: Headers; text: string };
/** A file whose content is still arriving. */
export type OpenAnswer = { headers: Headers; stream: ReadableStream<Uint8Array<ArrayBuffer>> };

/** One request and its answer, read to its end; what it means is for others to say. */
export function attempt(request: HttpRequest, limits: HttpLimits): Promise<WholeAnswer> {
  return exchange(request, limits, readWhole);
}

/** One request for a file: its content is handed on as it comes, a refusal is read to its end. */
export function attemptFile(
  request: HttpRequest,
  limits: HttpLimits,
): Promise<WholeAnswer | OpenAnswer> {
  return exchange<WholeAnswer | OpenAnswer>(request, limits, (answer, limit) =>
    answer.ok ? openFile(answer, limit, request) : readWhole(answer, limit),
  );
}

/**
 * The time limit covers the token, the request and its answer, so that an answer that stops in the
 * middle does not hang. Whatever goes wrong on the way becomes `connection_failed` or `timed_out`;
 * an abort by the caller stays the caller's own reason.
 */
async function exchange<Result>(
  request: HttpRequest,
  limits: HttpLimits,
  read: (answer: Response, limit: Limit) => Promise<Result>,
): Promise<Result> {
  const limit = startLimit(limits, request.headers["idempotency-key"] ?? null);
  let body: RequestBody | undefined;
  let is_open = false;
  try {
    const authorization = await authorize(request, limit);
    body = request.makeBody?.();
    const init = toInit(request, authorization, body, limit.signal);
    const result = await onTheWay(request, limit, body, async () =>
      read(await limit.within(() => limits.fetch(request.url, init)), limit),
    );
    is_open = isOpen(result);
    return result;
  } finally {
    body?.close?.();
    if (!is_open) limit.end();
  }
}

/** A token that cannot be had is the caller's own error, unless it was not waited for any longer. */
async function authorize(request: HttpRequest, limit: Limit): Promise<string> {
  try {
    return await limit.within(request.authorize);
  } catch (error) {
    limit.check();
    throw error;
  }
}

async function onTheWay<Result>(
  request: HttpRequest,
  limit: Limit,
  body: RequestBody | undefined,
  go: () => Promise<Result>,
): Promise<Result> {
  try {
    return await go();
  } catch (error) {
    limit.check();
    const failure = body?.failure?.();
    if (failure !== undefined) throw failure;
    const message = `The connection to ${new URL(request.url).origin} failed.`;
    const idempotency_key = request.headers["idempotency-key"] ?? null;
    throw new SliproadError("connection_failed", message, { cause: error, idempotency_key });
  }
}

async function readWhole(answer: Response, limit: Limit): Promise<WholeAnswer> {
  const { ok, status, headers } = answer;
  return { ok, status, headers, text: await limit.within(() => answer.text()) };
}

function isOpen(result: unknown): result is OpenAnswer {
  return typeof result === "object" && result !== null && "stream" in result;
}

/** The limit stays with the content until that has come, or nobody wants it any more. */
async function openFile(
  { headers, body }: Response,
  limit: Limit,
  request: HttpRequest,
): Promise<OpenAnswer> {
  const reader = (body ?? new Blob().stream()).getReader();
  const pull = async (controller: ReadableStreamDefaultController) => {
    try {
      limit.refill();
      const { done, value } = await onTheWay(request, limit, undefined, () =>
        limit.within(() => reader.read()),
      );
      if (!done) return controller.enqueue(value);
      controller.close();
    } catch (error) {
      reader.cancel().catch(() => {});
      controller.error(error);
    }
    limit.end();
  };
  const cancel = async (reason: unknown) => {
    limit.end();
    await reader.cancel(reason);
  };
  return { headers, stream: new ReadableStream({ pull, cancel }, { highWaterMark: 0 }) };
}

function toInit(
  request: HttpRequest,
  authorization: string,
  body: RequestBody | undefined,
  signal: AbortSignal,
) {
  const headers: Record<string, string> = { ...request.headers, authorization };
  if (body?.type) headers["content-type"] = body.type;
  const init = {
    method: request.method,
    headers,
    signal,
    // A redirect would turn a POST into a GET, or take the key to another host.
    redirect: "manual" as const,
  };
  // "half": the body may be a stream that is still being read while it is sent.
  return body ? { ...init, body: body.content, duplex: "half" as const } : init;
}
