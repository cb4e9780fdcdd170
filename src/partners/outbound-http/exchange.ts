import type { Connection, Listener, Message, Target } from "./connection.ts";
import type { Connections } from "./connections.ts";
import type {
  AnswerHead,
  OutboundAnswer,
  OutboundFailure,
  OutboundRequest,
} from "./outbound-request.ts";
import { AnswerBody, readExpandedStart, readWhole } from "./read-answer.ts";
import { SendError, toSendError } from "./send-error.ts";

type Result = OutboundAnswer | OutboundFailure;

/** One request and its answer, on a kept connection or, where that was stale, on a new one. */
export function exchange(
  connections: Connections,
  target: Target,
  message: Message,
  request: OutboundRequest,
  time_ms: number,
): Promise<Result> {
  return new Promise((resolve, reject) => {
    const begun_ms = performance.now();
    const onStale = () => {
      const left_ms = Math.max(1, Math.ceil(time_ms - (performance.now() - begun_ms)));
      begin(connections.open(target), left_ms);
    };
    const ends = { resolve, reject, onStale };
    const begin = (connection: Connection, left_ms: number) => {
      connection.send(message, new Exchange(connections, connection, request, left_ms, ends));
    };
    begin(connections.take(target), time_ms);
  });
}

/** How an exchange ends: exactly once, whatever the other side does. */
type Ends = {
  resolve: (result: Result) => void;
  reject: (error: unknown) => void;
  /** The other side closed a kept connection just as it was used. */
  onStale: () => void;
};

class Exchange implements Listener {
  readonly #connections: Connections;
  readonly #connection: Connection;
  readonly #request: OutboundRequest;
  readonly #ends: Ends;
  readonly #timer: NodeJS.Timeout;
  /** Before: what fails is the connection, not the exchange. */
  #is_sent = false;
  /** At least the beginning of something came back. */
  #is_answered = false;
  #is_over = false;
  /** The connection is no longer ours. */
  #is_given_back = false;
  #head: AnswerHead | null = null;
  /** It failed already, and is read on only to be shown. */
  #redirect: SendError | null = null;
  /** Of an answer that is read as a stream. */
  #body: AnswerBody | null = null;
  /** Expanded, where they were compressed. */
  #chunks: Buffer[] = [];
  /** Of an answer that is read as a stream, as they came. */
  #first_bytes: Buffer | null = null;
  #left: number;

  constructor(
    connections: Connections,
    connection: Connection,
    request: OutboundRequest,
    time_ms: number,
    ends: Ends,
  ) {
    this.#connections = connections;
    this.#connection = connection;
    this.#request = request;
    this.#ends = ends;
    this.#left = request.max_answer_bytes;
    this.#timer = setTimeout(giveUp, time_ms, this);
  }

  onSent(): void {
    this.#is_sent = true;
  }

  onFirstByte(): void {
    this.#is_answered = true;
  }

  onHead(head: AnswerHead): void {
    if (this.#is_over) return;
    this.#head = head;
    const { status, headers } = head;
    if (status >= 300 && status <= 399) {
      const message = `The answer was ${status}; redirects are not followed.`;
      this.#redirect = new SendError("redirect", message);
      if (this.#request.on_body) {
        this.fail(this.#redirect);
        return;
      }
    }
    const is_wanted_whole = this.#request.on_body !== undefined && status <= 299;
    if (!is_wanted_whole && headers["content-encoding"] === undefined) return;
    this.#body = new AnswerBody(headers, {
      resume: () => this.#connection.resume(),
      abort: () => this.#endConnection(),
    });
    this.#takeStream(head, this.#body, is_wanted_whole);
  }

  onData(chunk: Buffer): void {
    if (this.#body) {
      this.#first_bytes ??= chunk.subarray(0, this.#request.max_answer_bytes);
      if (!this.#body.push(chunk)) this.#connection.pause();
      return;
    }
    if (this.#is_over) return;
    this.#chunks.push(chunk.length > this.#left ? chunk.subarray(0, this.#left) : chunk);
    this.#left -= chunk.length;
    // The rest will not be read: the connection cannot be used again.
    if (this.#left < 0) this.#finish(true);
  }

  onEnd(): void {
    if (this.#body) {
      if (!this.#body.destroyed) this.#keepConnection();
      this.#body.complete = true;
      this.#body.push(null);
    } else if (!this.#is_over) {
      this.#keepConnection();
      this.#finish(false);
    }
  }

  onFailure(error: unknown): void {
    if (this.#body) this.#body.destroy(error as Error);
    else this.fail(error);
  }

  fail(error: unknown): void {
    if (!this.#end()) return;
    this.#body?.destroy(error as Error);
    this.#endConnection();
    // The server closed a kept connection just as we used it: nothing was answered, and the
    // request has to go out on a new one.
    const is_stale = this.#connection.is_used && !this.#is_answered && isReset(error);
    if (is_stale) {
      this.#ends.onStale();
      return;
    }
    this.#resolveFailed(this.#redirect ?? toSendError(error, this.#is_sent));
  }

  /** With what came so far; what cannot be expanded is shown as it came. */
  #resolveFailed({ failure, message }: SendError): void {
    const body = this.#chunks.length > 0 ? Buffer.concat(this.#chunks) : this.#first_bytes;
    this.#ends.resolve({ failure, message, status: this.#head?.status ?? null, body });
  }

  #finish(truncated: boolean): void {
    if (!this.#end()) return;
    const body = this.#chunks.length === 1 ? this.#chunks[0]! : Buffer.concat(this.#chunks);
    const { status, headers } = this.#head!;
    if (truncated) this.#endConnection();
    if (this.#redirect) this.#resolveFailed(this.#redirect);
    else this.#ends.resolve({ status, headers, body, truncated });
  }

  async #takeStream(head: AnswerHead, body: AnswerBody, is_wanted_whole: boolean): Promise<void> {
    try {
      const answer = is_wanted_whole
        ? await consume(head, body, this.#request)
        : { ...head, ...(await this.#readStart(body)) };
      this.#endConnection();
      if (!this.#end()) return;
      if (this.#redirect) this.#resolveFailed(this.#redirect);
      else this.#ends.resolve(answer);
    } catch (error) {
      body.destroy();
      if (error instanceof ConsumerError) {
        this.#endConnection();
        if (this.#end()) this.#ends.reject(error.cause);
      } else this.fail(error);
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

  #keepConnection(): void {
    this.#is_given_back = true;
    this.#connections.keep(this.#connection, this.#head?.headers["keep-alive"]);
  }

  /** Unless another request may be using it already. */
  #endConnection(): void {
    if (this.#is_given_back) return;
    this.#is_given_back = true;
    this.#connections.end(this.#connection);
  }

  /** False when it was over already. */
  #end(): boolean {
    if (this.#is_over) return false;
    this.#is_over = true;
    clearTimeout(this.#timer);
    return true;
  }
}

function giveUp(exchange: Exchange): void {
  exchange.fail(new SendError("timeout", "There was no complete answer in time."));
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

/** A fault of the caller's own consumer, not of the other side. */
class ConsumerError extends Error {}

function isReset(error: unknown): boolean {
  const { code = "" } = error as NodeJS.ErrnoException;
  return code === "ECONNRESET" || code === "EPIPE";
}
