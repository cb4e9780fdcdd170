import type { Readable } from "node:stream";
import type { FailureKind } from "./send-error.ts";

export type OutboundRequest = {
  method: "GET" | "POST";
  url: string;
  /** But for those that frame the message, which are the sender's own. */
  headers: Record<string, string>;
  body?: Buffer | string;
  /** After expansion. Without `on_body` the answer is cut there, with it a larger one fails. */
  max_answer_bytes: number;
  whole_timeout_ms?: number;
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
};
