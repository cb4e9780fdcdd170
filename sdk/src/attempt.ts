import { SliproadError } from "./errors.ts";
import { type Limit, startLimit } from "./limit.ts";

export type Fetch = typeof globalThis.fetch;

/** Files are not read into memory; no other answer is nearly as large. */
const ANSWER_BYTES_MAX = 64 * 1024 * 1024;

export type HttpRequest = {
  method: string;
  url: string;
  headers: Record<string, string>;
  /** The value of the Authorization header; read before every attempt. */
  authorize: () => Promise<string>;
  /** Creates the body of one attempt; undefined if there is none. */
  makeBody?: (() => RequestBody) | undefined;
};

/** The content type of a stream; FormData sets its own. */
export type RequestBody = {
  content: FormData | ReadableStream<Uint8Array<ArrayBuffer>> | string;
  type?: string;
  /** The error of a stream's source: the caller's error, not a network error. */
  failure?: () => unknown;
  /** Releases a source that was not read to its end. */
  close?: () => void;
};

export type HttpLimits = { fetch: Fetch; timeout_ms: number; signal: AbortSignal | null };

/** A complete response. */
export type WholeAnswer = { ok: boolean; status: number; headers: Headers; text: string };
/** A file whose content is still arriving. */
export type OpenAnswer = { headers: Headers; stream: ReadableStream<Uint8Array<ArrayBuffer>> };

/** One request and its complete response, not interpreted. */
export function attempt(request: HttpRequest, limits: HttpLimits): Promise<WholeAnswer> {
  return exchange(request, limits, (answer, limit) => readWhole(answer, limit, keyOf(request)));
}

/**
 * One request for a file: its content is passed on as it arrives, an error response is read
 * completely.
 */
export function attemptFile(
  request: HttpRequest,
  limits: HttpLimits,
): Promise<WholeAnswer | OpenAnswer> {
  return exchange<WholeAnswer | OpenAnswer>(request, limits, (answer, limit) =>
    answer.ok ? openFile(answer, limit, request) : readWhole(answer, limit, keyOf(request)),
  );
}

/**
 * The time limit covers the token, the request and its response, so that a response that stalls
 * does not hang. Network failures become `connection_failed` or `timed_out`; an abort by the caller
 * keeps the caller's own reason.
 */
async function exchange<Result>(
  request: HttpRequest,
  limits: HttpLimits,
  read: (answer: Response, limit: Limit) => Promise<Result>,
): Promise<Result> {
  const limit = startLimit(limits, keyOf(request));
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

function keyOf({ headers }: HttpRequest): string | null {
  return headers["idempotency-key"] ?? null;
}

/** A failure to get a token is the caller's own error, unless the time limit ended the wait. */
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
    if (error instanceof SliproadError) throw error;
    const failure = body?.failure?.();
    if (failure !== undefined) throw failure;
    const message = `The connection to ${new URL(request.url).origin} failed.`;
    const idempotency_key = keyOf(request);
    throw new SliproadError("connection_failed", message, { cause: error, idempotency_key });
  }
}

async function readWhole(
  answer: Response,
  limit: Limit,
  idempotency_key: string | null,
): Promise<WholeAnswer> {
  const { ok, status, headers } = answer;
  const text = await limit.within(() => readText(answer));
  if (text !== null) return { ok, status, headers, text };
  const message = "The answer is larger than 64 MiB; check baseUrl and any proxy in between.";
  const request_id = headers.get("x-request-id");
  throw new SliproadError("answer_unreadable", message, { status, request_id, idempotency_key });
}

/** The body as text; null if it is larger than any answer of the service. */
async function readText({ body }: Response): Promise<string | null> {
  if (!body) return "";
  const reader = body.getReader();
  const decoder = new TextDecoder();
  const parts: string[] = [];
  let bytes = 0;
  for (;;) {
    const { done, value } = await reader.read();
    if (done) return parts.join("") + decoder.decode();
    bytes += value.byteLength;
    if (bytes > ANSWER_BYTES_MAX) {
      reader.cancel().catch(() => {});
      return null;
    }
    parts.push(decoder.decode(value, { stream: true }));
  }
}

function isOpen(result: unknown): result is OpenAnswer {
  return typeof result === "object" && result !== null && "stream" in result;
}

/** The limit applies until the content has arrived, or the caller stops reading. */
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
    // A redirect would turn a POST into a GET, or send the key to another host.
    redirect: "manual" as const,
  };
  // "half": the body may be a stream that is still being read while it is sent.
  return body ? { ...init, body: body.content, duplex: "half" as const } : init;
}
