import { HEADER_NAME, NOT_IN_A_VALUE } from "./header-syntax.ts";
import type { AnswerHead } from "./outbound-request.ts";
import { SendError } from "./send-error.ts";

/** What a parser tells of an answer, in this order; data any number of times. */
export type AnswerListener = {
  onHead(head: AnswerHead): void;
  onData(chunk: Buffer): void;
  /** All of it has come. */
  onEnd(): void;
};

/** What the next bytes are. */
type Part =
  | "status line"
  | "header"
  | "content"
  | "content until the end"
  | "chunk size"
  | "chunk"
  | "chunk end"
  | "trailer"
  | "nothing";

const CONTENT_PARTS: ReadonlySet<Part> = new Set(["content", "content until the end", "chunk"]);

/** Of lines in one answer, together with all that came before it. */
const LINE_BYTES_MAX = 16 * 1024;
/** What chunks are framed with may be twice their content, and this: each frame costs us work. */
const FRAMES_BYTES_FREE = 64 * 1024;
const STATUS_LINE = /^HTTP\/1\.([01]) ([1-9]\d\d)(?: .*)?$/;
const SPACE_AROUND = /^[ \t]+|[ \t]+$/g;
const CHUNKED_AT_LAST = /(?:^|,)[ \t]*chunked$/i;
const LENGTH = /^\d{1,15}$/;
const CHUNK_SIZE = /^0*([0-9A-Fa-f]{1,12})[ \t]*(?:;.*)?$/;
const LF = 10;

/**
 * Reads the answer to one request as it comes (RFC 9112), each byte once. What is said before it,
 * such as `100 Continue`, is skipped. Whatever leaves in doubt where the answer ends is an error:
 * a connection is only used again when nobody can differ about that.
 */
export class AnswerParser {
  readonly #listener: AnswerListener;
  #part: Part = "status line";
  /** Of a line that is not complete. */
  #line = "";
  #line_bytes = 0;
  #left = 0;
  #content_bytes = 0;
  #frame_bytes = 0;
  /** Of what is being fed: handed over together, since chunks may be small and many. */
  #pieces: Buffer[] = [];
  #minor_version = "";
  #head: AnswerHead = { status: 0, headers: {} };
  #is_exact = true;

  constructor(listener: AnswerListener) {
    this.#listener = listener;
  }

  /** The connection can carry another request: both sides know that this answer is over. */
  get is_reusable(): boolean {
    const { connection = "" } = this.#head.headers;
    return this.#is_exact && this.#minor_version === "1" && !/\bclose\b/i.test(connection);
  }

  /** Throws when it is no proper answer. */
  feed(chunk: Buffer): void {
    let at = 0;
    try {
      while (at < chunk.length && this.#part !== "nothing") {
        const is_line = !CONTENT_PARTS.has(this.#part);
        at += is_line ? this.#takeLine(chunk, at) : this.#takeContent(chunk, at);
      }
    } finally {
      this.#handOver();
    }
    if (this.#part !== "nothing") return;
    if (at < chunk.length) this.#is_exact = false;
    this.#listener.onEnd();
  }

  #handOver(): void {
    const pieces = this.#pieces;
    if (pieces.length === 0) return;
    this.#pieces = [];
    this.#listener.onData(pieces.length === 1 ? pieces[0]! : Buffer.concat(pieces));
  }

  /** The connection was closed; false when something was still to come. */
  end(): boolean {
    if (this.#part !== "content until the end") return false;
    this.#part = "nothing";
    this.#listener.onEnd();
    return true;
  }

  #takeContent(chunk: Buffer, at: number): number {
    const rest = chunk.length - at;
    const length = this.#part === "content until the end" ? rest : Math.min(this.#left, rest);
    this.#left -= length;
    this.#content_bytes += length;
    if (this.#left === 0) this.#part = this.#part === "chunk" ? "chunk end" : "nothing";
    this.#pieces.push(length === chunk.length ? chunk : chunk.subarray(at, at + length));
    return length;
  }

  #takeLine(chunk: Buffer, at: number): number {
    const found = chunk.indexOf(LF, at);
    const end = found < 0 ? chunk.length : found;
    this.#line_bytes += end - at + 1;
    if (this.#line_bytes > LINE_BYTES_MAX) throw wrong("its headers are too long");
    const text = chunk.toString("latin1", at, end);
    if (found < 0) {
      this.#line += text;
      return end - at;
    }
    const line = this.#line === "" ? text : this.#line + text;
    this.#line = "";
    // A line may end without CR.
    this.#readLine(line.endsWith("\r") ? line.slice(0, -1) : line);
    return end - at + 1;
  }

  #readLine(line: string): void {
    if (this.#part === "header") this.#readHeader(line);
    else if (this.#part === "status line") this.#readStatus(line);
    else if (this.#part === "chunk size") this.#readChunkSize(line);
    else if (this.#part === "chunk end") {
      if (line !== "") throw wrong("a chunk is longer than it says");
      this.#part = "chunk size";
    } else if (line === "") this.#part = "nothing";
  }

  #readStatus(line: string): void {
    // Some servers end the answer before with an empty line too many.
    if (line === "") return;
    const [, minor_version, status] = STATUS_LINE.exec(line) ?? [];
    if (!minor_version) throw wrong("it begins with no status");
    this.#minor_version = minor_version;
    this.#head = { status: Number(status), headers: {} };
    this.#part = "header";
  }

  #readHeader(line: string): void {
    if (line === "") {
      this.#endHead();
      return;
    }
    const colon = line.indexOf(":");
    const name = line.slice(0, colon);
    const value = line.slice(colon + 1).replace(SPACE_AROUND, "");
    if (colon < 0 || !HEADER_NAME.test(name)) throw wrong("a header has no proper name");
    if (NOT_IN_A_VALUE.test(value)) throw wrong(`the header ${name} holds control characters`);
    const { headers } = this.#head;
    const key = name.toLowerCase();
    headers[key] = Object.hasOwn(headers, key) ? `${headers[key]}, ${value}` : value;
  }

  #endHead(): void {
    const { status, headers } = this.#head;
    if (status === 101) throw wrong("it wants to speak another protocol");
    if (status < 200) {
      this.#part = "status line";
      return;
    }
    this.#line_bytes = 0;
    this.#part = this.#partAfterHead(status, headers);
    this.#listener.onHead(this.#head);
  }

  #partAfterHead(status: number, headers: AnswerHead["headers"]): Part {
    const { "transfer-encoding": coding, "content-length": length } = headers;
    if (coding !== undefined && length !== undefined) throw wrong("it has two lengths");
    if (length !== undefined && !LENGTH.test(length)) throw wrong("its length is no number");
    if (status === 204 || status === 304) {
      // Whether what it announces follows, nobody can tell.
      this.#is_exact = coding === undefined && Number(length ?? 0) === 0;
      return "nothing";
    }
    if (coding !== undefined && CHUNKED_AT_LAST.test(coding)) return "chunk size";
    if (length === undefined) {
      this.#is_exact = false;
      this.#left = Number.POSITIVE_INFINITY;
      return "content until the end";
    }
    this.#left = Number(length);
    return this.#left === 0 ? "nothing" : "content";
  }

  #readChunkSize(line: string): void {
    const [, size] = CHUNK_SIZE.exec(line) ?? [];
    if (!size) throw wrong("a chunk has no size");
    this.#left = Number.parseInt(size, 16);
    this.#part = this.#left === 0 ? "trailer" : "chunk";
    // Trailers may be as long as headers; the lines between chunks are judged by their content.
    this.#frame_bytes += this.#line_bytes;
    this.#line_bytes = 0;
    if (this.#frame_bytes > 2 * this.#content_bytes + FRAMES_BYTES_FREE) {
      throw wrong("it is cut into too many chunks");
    }
  }
}

function wrong(reason: string): SendError {
  return new SendError("protocol", `The answer is not proper HTTP: ${reason}.`);
}
