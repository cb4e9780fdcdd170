import type { Readable } from "node:stream";
import type { FailureKind } from "./send-error.ts";

export type OutboundRequest = {
  /** The account it is sent for: connections are never shared between accounts. */
  account_id: string;
  method: "GET" | "POST";
  url: string;
  /** Without those that frame the message, which the sender sets. */
  headers: Record<string, string>;
  body?: Buffer | string;
  /**
   * After decompression. Without `on_body` the answer is truncated there, with it a larger one
   * fails.
   */
  max_answer_bytes: number;
  whole_timeout_ms?: number;
  /** How many redirects are followed, each URL checked like the first; default none. */
  redirects_max?: number;
  /** Reads the body of a 2xx answer as a stream; `send` rethrows its errors. */
  on_body?: (body: Readable, answer: AnswerHead) => Promise<void>;
};

export type AnswerHead = { status: number; headers: Record<string, string> };
export type OutboundAnswer = AnswerHead & { body: Buffer; truncated: boolean };
export type OutboundFailure = {
  failure: FailureKind;
  message: string;
  /** The status of an answer that began but could not be used. */
  status: number | null;
  /** The part of that answer that was received, up to the limit. */
  body: Buffer | null;
  /** The target of a redirect, as in the answer. */
  location?: string | undefined;
};
export type OutboundResult = OutboundAnswer | OutboundFailure;

/** The target of a request. Account and origin determine which connections it can use. */
export type Target = {
  origin: string;
  /** For the header: without the scheme's usual port. */
  host: string;
  is_secure: boolean;
  hostname: string;
  port: number;
  path: string;
};
