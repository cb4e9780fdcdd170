import type { ErrorBody, ErrorCode, FieldError } from "./types.ts";

/** What can go wrong before the service has answered, or instead of its answer. */
export type ClientErrorCode =
  /** The service could not be reached, or the connection broke. */
  | "connection_failed"
  /** No whole answer within `timeout_ms`. */
  | "timed_out"
  /** Something answered, but not in the service's form: a proxy, or a wrong `baseUrl`. */
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
 * Everything that a call may fail with, told apart by `error_code`:
 * `if (isSliproadError(error, "quote_expired")) …`. Only a call that was aborted fails with
 * something else: the reason of its signal.
 */
export class SliproadError<Code extends SliproadErrorCode = SliproadErrorCode> extends Error {
  override readonly name: string = "SliproadError";
  readonly error_code: Code;
  /** The HTTP status; null when nothing answered. */
  readonly status: number | null;
  /** By which the operator of the service finds this request in its log. */
  readonly request_id: string | null;
  /** The fields at fault, all of them. */
  readonly errors: readonly FieldError[];
  readonly doc_url: string | null;
  /**
   * The key that the request carried. Where the outcome is not known (`connection_failed`,
   * `timed_out`, `outcome_unknown`), repeat the call with it: what was done is not done twice.
   */
  readonly idempotency_key: string | null;
  /** How long the service asked to wait. */
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

/** Whether this is a failed call and, where codes are given, one of these. */
export function isSliproadError<Code extends SliproadErrorCode = SliproadErrorCode>(
  error: unknown,
  ...codes: readonly Code[]
): error is SliproadError<Code> {
  if (!(error instanceof SliproadError)) return false;
  return codes.length === 0 || (codes as readonly string[]).includes(error.error_code);
}

/** The error that an answer other than 2xx stands for. */
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
  return `The answer (status ${status}) is not Sliproad's; check baseUrl and what stands between.`;
}

type ReadErrorBody = Pick<ErrorBody, "error_code" | "message"> & {
  request_id: string | null;
  doc_url: string | null;
  errors: FieldError[];
};

/** Takes what is as it should be, whatever else stands there: this must not fail itself. */
function readErrorBody(text: string): ReadErrorBody | null {
  const body = parseObject(text);
  if (typeof body?.error_code !== "string") return null;
  return {
    error_code: body.error_code as ErrorCode,
    message: readText(body.message) ?? "No reason was given.",
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

/** Seconds, or a date, as HTTP allows both. */
function readRetryAfter(value: string | null): number | null {
  if (value === null) return null;
  if (/^\d+(\.\d+)?$/.test(value)) return Math.ceil(Number(value));
  const at_ms = Date.parse(value);
  return Number.isNaN(at_ms) ? null : Math.max(0, (at_ms - Date.now()) / 1000);
}
