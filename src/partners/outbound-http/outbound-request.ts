import type { Readable } from "node:stream";
import type { FailureKind } from "./send-error.ts";

export type OutboundRequest = {
  /** On whose behalf: connections are never shared between accounts. */
  account_id: string;
  method: "GET" | "POST";
  url: string;
  /** But for those that frame the message, which are the sender's own. */
  headers: Record<string, string>;
  body?: Buffer | string;
  /** After expansion. Without `on_body` the answer is cut there, with it a larger one fails. */
  max_answer_bytes: number;
  whole_timeout_ms?: number;
  /** How many redirects are followed, each URL checked like the first; none when left out. */
  redirects_max?: number;
  /** Takes the body of a 2xx answer as a stream; what it throws is thrown by `send`. */
  on_body?: (body: Readable, answer: AnswerHead) => Promise<void>;
};

export type AnswerHead = { status: number; headers: Record<string, string> };
export type OutboundAnswer = AnswerHead & { body: Buffer; truncated: boolean };
export type OutboundFailure = {
  failure: FailureKind;
  message: string;
  /** Of an answer that began but could not be used. */
  status: number | null;
  /** As much of that answer as came, up to the cap. */
  body: Buffer | null;
  /** Where a redirect leads, as the answer says it. */
  location?: string | undefined;
};
export type OutboundResult = OutboundAnswer | OutboundFailure;

/** Where a request goes. Account and origin together decide which connections can carry it. */
export type Target = {
  origin: string;
  is_secure: boolean;
  hostname: string;
  port: number;
  path: string;
};
