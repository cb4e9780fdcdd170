import type { Dispatcher } from "undici";
import type {
  AnswerHead,
  OutboundAnswer,
  OutboundRequest,
  OutboundResult,
} from "./outbound-request.ts";
import { AnswerBody, readExpandedStart, readWhole } from "./read-answer.ts";
import { SendError, toSendError } from "./send-error.ts";

/** How an exchange ends: exactly one of these is called, once, whatever the other side does. */
export type Ends = {
  resolve: (result: OutboundResult) => void;
  /** With the error of the caller's own consumer. */
  reject: (error: unknown) => void;
  /** There was no answer: send the request again with Node's client. */
  again: ((reason: "stale" | "unreadable") => void) | null;
  /** Whether the request's connection was opened for it. */
  isNew: () => boolean;
};

/** What an exchange needs from its connection. */
export type Controller = Pick<Dispatcher.DispatchController, "abort" | "pause" | "resume">;

/**
 * | phase    | meaning                            | next phase                                |
 * |----------|------------------------------------|-------------------------------------------|
 * | waiting  | the request waits for a connection | written: sent; failed, timeout: over      |
 * | sent     | the request was written            | first byte: answered; failed: again, over |
 * | answered | an answer has begun                | its end, a failure, a timeout: over       |
 * | over     | one of the ends was called         |                                           |
 */
type Phase = "waiting" | "sent" | "answered" | "over";

/** One request and its answer, as undici or Node's client reports them. */
export class Exchange implements Dispatcher.DispatchHandler {
  readonly #request: OutboundRequest;
  readonly #ends: Ends;
  readonly #timer: NodeJS.Timeout;
  #phase: Phase = "waiting";
  #is_new = true;
  #controller: Controller | null = null;
  #head: AnswerHead | null = null;
  /** Set if the answer is read as a stream. */
  #body: AnswerBody | null = null;
  /** Decompressed, if they were compressed. */
  #chunks: Buffer[] = [];
  /** The first bytes of an answer that is read as a stream, as received. */
  #first_bytes: Buffer | null = null;
  #left: number;
  #early_answers = 0;
  #small_parts = 0;

  constructor(request: OutboundRequest, time_ms: number, ends: Ends) {
    this.#request = request;
    this.#ends = ends;
    this.#left = request.max_answer_bytes;
    this.#timer = setTimeout(giveUp, time_ms, this);
  }

  onRequestStart(controller: Controller): void {
    if (this.#phase === "over") {
      controller.abort(TOO_LATE);
      return;
    }
    this.#phase = "sent";
    this.#controller = controller;
    this.#is_new = this.#ends.isNew();
  }

  onResponseStarted(): void {
    if (this.#phase === "sent") this.#phase = "answered";
  }

  onResponseStart(
    _controller: Controller,
    status: number,
    headers: Record<string, string | string[] | undefined>,
  ): void {
    if (this.#phase === "over") return;
    if (status < 200) {
      this.#early_answers += 1;
      if (this.#early_answers > EARLY_ANSWERS_MAX) this.fail(new SendError("protocol", FLOOD));
      return;
    }
    this.#head = { status, headers: joined(headers) };
    const is_redirect = status >= 300 && status <= 399;
    if (is_redirect && this.#request.on_body) {
      this.fail(redirectError(status));
      return;
    }
    const is_wanted_whole = this.#request.on_body !== undefined && status <= 299;
    if (!is_wanted_whole && this.#head.headers["content-encoding"] === undefined) return;
    this.#body = new AnswerBody(this.#head.headers, this.#request.account_id, {
      resume: () => this.#controller?.resume(),
      abort: () => this.#abort(),
    });
    void this.#takeStream(this.#head, this.#body, is_wanted_whole);
  }

  onResponseData(controller: Controller, chunk: Buffer): void {
    if (chunk.length < SMALL_PART_BYTES) this.#small_parts += 1;
    const has_crumbs = this.#small_parts > SMALL_PARTS_MAX;
    if (this.#body) {
      if (has_crumbs) {
        this.fail(new SendError("protocol", CRUMBS));
        return;
      }
      this.#first_bytes ??= chunk.subarray(0, this.#request.max_answer_bytes);
      if (!this.#body.push(chunk)) controller.pause();
      return;
    }
    if (this.#phase === "over") return;
    this.#chunks.push(chunk.length > this.#left ? chunk.subarray(0, this.#left) : chunk);
    this.#left -= chunk.length;
    if (this.#left >= 0 && !has_crumbs) return;
    // The rest will not be read: the connection cannot be reused.
    this.#finish(true);
    this.#abort();
  }

  onResponseEnd(): void {
    if (this.#body) {
      this.#body.complete = true;
      this.#body.push(null);
    } else this.#finish(false);
  }

  onResponseError(_controller: Controller | null, error: Error): void {
    if (this.#body) this.#body.destroy(error);
    else this.fail(error);
  }

  fail(error: unknown): void {
    if (this.#phase === "over") return;
    const is_sent = this.#phase !== "waiting";
    const reason = this.#whyAgain(error);
    this.#end();
    this.#abort();
    this.#body?.destroy(error as Error);
    if (this.#ends.again && reason) this.#ends.again(reason);
    else this.#resolveFailed(toSendError(error, is_sent));
  }

  /**
   * Null if sending again would not help. A server may close a kept connection just as it is used;
   * and undici fails on an answer that begins with an unrequested `100 Continue`.
   */
  #whyAgain(error: unknown): "stale" | "unreadable" | null {
    const { code = "", message } = error as NodeJS.ErrnoException;
    if (code === "UND_ERR_SOCKET" && message === "bad response" && !this.#head) return "unreadable";
    const is_closed = code === "ECONNRESET" || code === "EPIPE" || code === "UND_ERR_SOCKET";
    return is_closed && !this.#is_new && this.#phase === "sent" ? "stale" : null;
  }

  /** With the data received so far; data that cannot be decompressed is shown as received. */
  #resolveFailed(error: SendError): void {
    const { status = null, headers } = this.#head ?? {};
    // It already failed, and was read further only to show it.
    const is_redirect = status !== null && status >= 300 && status <= 399;
    const { failure, message } = is_redirect ? redirectError(status) : error;
    const body = this.#chunks.length > 0 ? Buffer.concat(this.#chunks) : this.#first_bytes;
    this.#ends.resolve({ failure, message, status, body, location: headers?.location });
  }

  #finish(truncated: boolean): void {
    const head = this.#head;
    if (this.#phase === "over" || !head) return;
    this.#end();
    const body = this.#chunks.length === 1 ? this.#chunks[0]! : Buffer.concat(this.#chunks);
    this.#resolve({ ...head, body, truncated });
  }

  #resolve(answer: OutboundAnswer): void {
    const { status } = answer;
    if (status >= 300 && status <= 399) this.#resolveFailed(redirectError(status));
    else this.#ends.resolve(answer);
  }

  async #takeStream(head: AnswerHead, body: AnswerBody, is_wanted_whole: boolean): Promise<void> {
    try {
      const answer = is_wanted_whole
        ? await consume(head, body, this.#request)
        : { ...head, ...(await this.#readStart(body)) };
      if (this.#phase === "over") return;
      this.#end();
      this.#resolve(answer);
    } catch (error) {
      body.destroy();
      if (!(error instanceof ConsumerError)) this.fail(error);
      else if (this.#phase !== "over") {
        this.#end();
        this.#ends.reject(error.cause);
      }
    }
  }

  async #readStart(body: AnswerBody): Promise<{ body: Buffer; truncated: boolean }> {
    const truncated = await readExpandedStart(
      body,
      this.#request.max_answer_bytes,
      (chunk) => void this.#chunks.push(chunk),
    );
    return { body: Buffer.concat(this.#chunks), truncated };
  }

  /** Closes the connection, unless the answer is complete. */
  #abort(): void {
    this.#controller?.abort(TOO_LATE);
  }

  #end(): void {
    this.#phase = "over";
    clearTimeout(this.#timer);
  }
}

/** Limits answers such as `103 Early Hints`, which may precede the real one. */
const EARLY_ANSWERS_MAX = 20;
/** Each part costs as much as a large one, and a server may send every byte as one. */
const SMALL_PART_BYTES = 32;
const SMALL_PARTS_MAX = 1_000;
const CRUMBS = "The server sent its response in too many parts of a few bytes.";
const FLOOD = "The server sent too many interim (1xx) responses.";
const TOO_LATE = new SendError("timeout", "The server did not send a complete response in time.");

function giveUp(exchange: Exchange): void {
  exchange.fail(TOO_LATE);
}

function redirectError(status: number): SendError {
  return new SendError("redirect", `The server answered ${status}; redirects are not followed.`);
}

/** Most headers occur once; repeated ones are joined. */
function joined(headers: Record<string, string | string[] | undefined>): Record<string, string> {
  const all: Record<string, string> = {};
  for (const name in headers) {
    const value = headers[name]!;
    all[name] = typeof value === "string" ? value : value.join(", ");
  }
  return all;
}

async function consume(
  head: AnswerHead,
  incoming: AnswerBody,
  request: OutboundRequest,
): Promise<OutboundAnswer> {
  const { body, broken } = readWhole(incoming, request.max_answer_bytes);
  body.on("error", () => {});
  try {
    await request.on_body!(body, head);
  } catch (error) {
    throw broken.reason ?? new ConsumerError("the consumer of the body failed", { cause: error });
  }
  if (broken.reason) throw broken.reason;
  if (!body.readableEnded) incoming.destroy();
  return { ...head, body: Buffer.alloc(0), truncated: false };
}

/** An error of the caller's own consumer, not of the other side. */
class ConsumerError extends Error {}
