import type { ErrorBody, ErrorCode, FieldError } from "./types.ts";

/** Errors of the client: the request got no answer, or none from Sliproad. */
export type ClientErrorCode =
  /** The service could not be reached, or the connection broke. */
  | "connection_failed"
  /** No complete answer within `timeout_ms`. */
  | "timed_out"
  /** The answer is not from Sliproad: `baseUrl` is wrong, or a proxy answered. */
  | "answer_unreadable";

export type SliproadErrorCode = ErrorCode | ClientErrorCode;

type Details = {
  status?: number | null;
  request_id?: string | null;
  errors?: readonly FieldError[];
  doc_url?: string | null;
  idempotency_key?: string | null;
  retry_after_seconds?: number | null;
  cause?: unknown;
};

/**
 * The error of every failed call. `error_code` says which one:
 * `if (isSliproadError(error, "quote_expired")) …`. Only a call that you abort fails with another
 * error: the reason of its signal.
 */
export class SliproadError<Code extends SliproadErrorCode = SliproadErrorCode> extends Error {
  override readonly name: string = "SliproadError";
  readonly error_code: Code;
  /** The HTTP status; null if there was no answer. */
  readonly status: number | null;
  /** Report it to the operator, who can find the request in the log with it. */
  readonly request_id: string | null;
  /** The problem of each invalid field. */
  readonly errors: readonly FieldError[];
  readonly doc_url: string | null;
  /**
   * The idempotency key of the request. If the outcome is not known (`connection_failed`,
   * `timed_out`, `outcome_unknown`), repeat the call with this key: nothing is done twice.
   */
  readonly idempotency_key: string | null;
  /** How long to wait before the next attempt. */
  readonly retry_after_seconds: number | null;

  constructor(error_code: Code, message: string, details: Details = {}) {
    super(message, "cause" in details ? { cause: details.cause } : undefined);
    this.error_code = error_code;
    this.status = details.status ?? null;
    this.request_id = details.request_id ?? null;
    this.errors = details.errors ?? [];
    this.doc_url = details.doc_url ?? null;
    this.idempotency_key = details.idempotency_key ?? null;
    this.retry_after_seconds = details.retry_after_seconds ?? null;
  }
}

/** Whether the error is a `SliproadError` and, if you pass codes, has one of them. */
export function isSliproadError<Code extends SliproadErrorCode = SliproadErrorCode>(
  error: unknown,
  ...codes: readonly Code[]
): error is SliproadError<Code> {
  if (!(error instanceof SliproadError)) return false;
  return codes.length === 0 || (codes as readonly string[]).includes(error.error_code);
}

/** The error for an answer that is not 2xx. */
export function toError(
  answer: { status: number; headers: Headers; text: string },
  idempotency_key: string | null,
): SliproadError {
  const { status, headers } = answer;
  const details = {
    status,
    request_id: headers.get("x-request-id"),
    idempotency_key,
    retry_after_seconds: readRetryAfter(headers.get("retry-after")),
  };
  const body = readErrorBody(answer.text);
  if (!body) return new SliproadError("answer_unreadable", unreadable(status), details);
  const { error_code, message, errors } = body;
  const faults = errors.map((fault) => `\n- ${fault.field}: ${fault.message}`);
  return new SliproadError(error_code, `${error_code}: ${message}${faults.join("")}`, {
    ...details,
    request_id: body.request_id ?? details.request_id,
    doc_url: body.doc_url,
    errors,
  });
}

function unreadable(status: number): string {
  return `The answer (status ${status}) is not from Sliproad; check baseUrl and any proxy in between.`;
}

type ReadErrorBody = Pick<ErrorBody, "error_code" | "message"> & {
  request_id: string | null;
  doc_url: string | null;
  errors: FieldError[];
};

/** Reads the valid parts of any body; it must not throw. */
function readErrorBody(text: string): ReadErrorBody | null {
  const body = parseObject(text);
  if (typeof body?.error_code !== "string") return null;
  return {
    error_code: body.error_code as ErrorCode,
    message: readText(body.message) ?? "The answer has no message.",
    request_id: readText(body.request_id),
    doc_url: readText(body.doc_url),
    errors: Array.isArray(body.errors) ? body.errors.filter(isFieldError) : [],
  };
}

function parseObject(text: string): Record<string, unknown> | null {
  try {
    const value = JSON.parse(text);
    return typeof value === "object" ? value : null;
  } catch {
    return null;
  }
}

function readText(value: unknown): string | null {
  return typeof value === "string" ? value : null;
}

function isFieldError(fault: FieldError | null): fault is FieldError {
  return typeof fault?.field === "string" && typeof fault.message === "string";
}

/** Seconds or a date: HTTP allows both. */
function readRetryAfter(value: string | null): number | null {
  if (value === null) return null;
  if (/^\d+(\.\d+)?$/.test(value)) return Math.ceil(Number(value));
  const at_ms = Date.parse(value);
  return Number.isNaN(at_ms) ? null : Math.max(0, (at_ms - Date.now()) / 1000);
}
