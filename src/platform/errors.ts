/**
 * The closed table of errors: code → HTTP status and what the caller should do next. The reference
 * page (docs/reference/errors.md) is generated from it. The order is the precedence: if a request
 * has several problems, the answer's top-level code is the first one in this table.
 */
export const ERRORS = {
  version_unknown: [400, "Send a supported version in Sliproad-Version, or omit the header."],
  unknown_format: [
    400,
    "Send Accept: application/json (on downloads also the file's type), or omit the header.",
  ],
  bad_request: [
    400,
    "The body could not be read; send valid JSON, or multipart/form-data for a file.",
  ],
  unauthorized: [401, "Send a valid API key in the header Authorization: Bearer <API_KEY>."],
  insufficient_scope: [
    403,
    "This credential is not allowed to do this; use one with the required scope.",
  ],
  confirmation_required: [403, "Confirm with your password or your second factor, then try again."],
  route_not_found: [404, "This route does not exist; check the method and the path."],
  idempotency_key_reused: [
    409,
    "This Idempotency-Key was used for a different request; use a new key.",
  ],
  file_too_large: [413, "The file is too large; send at most 5 MB (5 242 880 bytes)."],
  body_too_large: [413, "The body is too large; send a smaller one."],
  unsupported_media_type: [
    415,
    "This content type is not supported here; send application/json, or the type of the file.",
  ],
  parameter_unknown: [422, "The request has an unknown field; correct its name or remove it."],
  parameter_missing: [400, "A required field is missing; send every field listed in errors."],
  record_not_found: [404, "This record does not exist; check the id."],
  record_invalid: [422, "A field has an invalid value; correct the fields listed in errors."],
  value_too_long: [422, "A value is too long; shorten the fields listed in errors."],
  record_not_unique: [422, "A record with this value already exists; use that record."],
  country_not_supported: [422, "This country is not supported; use another one."],
  currency_not_supported: [
    422,
    "This currency is not supported; see GET /payment_detail_requirements.",
  ],
  currency_mismatch: [
    422,
    "The currency does not match the payment detail; use the payment detail's currency.",
  ],
  rails_not_available: [
    422,
    "Choose a rail that both the currency and the payment detail support.",
  ],
  quote_already_executed: [422, "The quote was already executed; create a new quote."],
  quote_expired: [422, "The quote has expired; create a new quote."],
  payment_detail_deactivated: [422, "The payment detail was deactivated; use another one."],
  payment_detail_not_approved: [
    422,
    "The payment detail is not approved; wait for its approval, or use another one.",
  ],
  not_yet_passed_kyc_kyb: [
    422,
    "The user must pass identity verification first; create a KYC session.",
  ],
  not_approved_for_payout_rail: [422, "The user is not approved for this rail; use another rail."],
  no_offramps_present: [422, "Add at least one offramp to the quote before executing it."],
  below_currency_limit: [
    422,
    "The amount is below the minimum of its currency and rail; send a larger amount.",
  ],
  supporting_document_required: [
    422,
    "This payout needs a supporting document: set `submitted_url`.",
  ],
  unsupported_file_type: [422, "This file type is not supported; send a PDF, JPG or PNG file."],
  file_infected: [422, "The file contains malware and was not stored; send a clean file."],
  offramp_not_editable: [422, "The payout has started and can no longer be changed."],
  invalid_transition: [422, "This change is not possible in the record's current status."],
  invalid_kyc_status_param: [
    422,
    "Unknown KYC status; use one that is listed in the documentation.",
  ],
  limit_exceeded: [422, "A limit is reached; `errors` says which one and what to do."],
  on_hold: [422, "The user or account is on hold; contact the operator."],
  too_many_requests: [
    429,
    "Too many requests; wait for the number of seconds in Retry-After, then try again.",
  ],
  internal_error: [500, "An internal error occurred; report the request id to the operator."],
  unavailable: [
    503,
    "The request was not processed; wait for the number of seconds in Retry-After, then try again.",
  ],
  outcome_unknown: [
    503,
    "The outcome is unknown; repeat the request with the same Idempotency-Key.",
  ],
} as const satisfies Record<string, readonly [status: number, advice: string]>;

export type ErrorCode = keyof typeof ERRORS;

export const ERROR_CODES = Object.keys(ERRORS) as ErrorCode[];

/** One thing that is wrong with a request. `field` is a path such as `offramps[1].rails`. */
export type Problem = { field: string; code: ErrorCode; message: string };

/** Enough to correct a request; the answer must not grow with the number of problems. */
export const PROBLEMS_LISTED_MAX = 100;

/** The problems that an answer lists: as many as fit, always with the one that sets the code. */
export function listedOf<Found extends { code: ErrorCode }>(found: readonly Found[]): Found[] {
  const first = firstOf(found);
  const listed = found.slice(0, PROBLEMS_LISTED_MAX);
  if (!listed.includes(first)) listed[PROBLEMS_LISTED_MAX - 1] = first;
  return listed;
}

function firstOf<Found extends { code: ErrorCode }>(found: readonly Found[]): Found {
  const [any] = found;
  if (!any) throw new Error("a refusal needs at least one problem");
  return found.reduce(
    (best, other) => (precedence(best.code) <= precedence(other.code) ? best : other),
    any,
  );
}

/** A deliberate refusal, answered with an error body. Anything else thrown becomes a 500. */
export class Refusal extends Error {
  readonly code: ErrorCode;
  readonly problems: readonly Problem[];
  /** How many problems there are besides those listed. */
  readonly problems_omitted: number;
  readonly retry_after_seconds: number | undefined;

  constructor(code: ErrorCode, message?: string, retry_after_seconds?: number) {
    super(message ?? ERRORS[code][1]);
    this.code = code;
    this.problems = [];
    this.problems_omitted = 0;
    this.retry_after_seconds = retry_after_seconds;
  }

  /** The messages of its problems, for a reader who sees no list of fields. */
  get sentence(): string {
    return [...new Set(this.problems.map(({ message }) => message))].join(" ") || this.message;
  }

  /**
   * All problems of a request in one refusal; the first in the table's order sets its code.
   * `omitted` counts those that are not in the list.
   */
  static of(problems: readonly Problem[], omitted = 0): Refusal {
    const listed = listedOf(problems);
    const { code } = firstOf(listed);
    const problems_omitted = omitted + problems.length - listed.length;
    return Object.assign(new Refusal(code), { problems: listed, problems_omitted });
  }

  get status(): number {
    return ERRORS[this.code][0];
  }
}

const PRECEDENCE = new Map(ERROR_CODES.map((code, index) => [code, index]));

function precedence(code: ErrorCode): number {
  return PRECEDENCE.get(code)!;
}

/** A record named in the path that this caller cannot see, whether or not it exists. */
export function notFound(field: string): Problem {
  const message = "This record does not exist; check the id.";
  return { field, code: "record_not_found", message };
}

/** Refuses for the problems found so far, and for this field if there is no such record. */
export function assertFound(
  record: unknown,
  field: string,
  problems: readonly Problem[],
): asserts record {
  const found = record ? problems : [...problems, notFound(field)];
  if (found.length > 0) throw Refusal.of(found);
}
