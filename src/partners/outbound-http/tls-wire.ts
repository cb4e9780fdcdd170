import type { Socket } from "node:net";
import { Duplex } from "node:stream";
import type { TLSSocket } from "node:tls";
import { SendError } from "./send-error.ts";

/** What OpenSSL gets at a time: it does not return before it has read all of it. */
const PART_BYTES = 4 * 1024;
/** A server's usual session tickets. */
const USUAL_BYTES = 4 * 1024;
/** The same, and a record that is not complete yet. */
const BESIDES_BYTES_MAX = USUAL_BYTES + 20 * 1024;
/** Records of 1.4 KB have 2 % besides their content, those of 16 KB a tenth of that. */
const CONTENT_PER_BESIDES = 16;
const FLOOD = "The server sent too much data outside the content of its TLS connection.";
/** Several times what usual servers send before the connection is secure. */
const HANDSHAKE_BYTES_MAX = 16 * 1024;
const LONG_HANDSHAKE = "The server's certificates are too large.";

/**
 * The encrypted bytes of a connection, as OpenSSL reads and writes them. The handshake has a limit:
 * OpenSSL compares every name of a certificate with every name that the one above it forbids, which
 * takes seconds for 100 KB of them. After the handshake nearly all bytes must be content: session
 * tickets, new keys and records of one byte may come without end and unseen by anyone else, and a
 * megabyte of them takes the thread that answers requests up to two seconds.
 */
export class TlsWire extends Duplex {
  readonly #plain: Socket;
  #content: TLSSocket | null = null;
  #received = 0;

  constructor(plain: Socket) {
    super({ readableHighWaterMark: PART_BYTES });
    this.#plain = plain;
    plain
      .on("readable", () => this._read())
      .on("end", () => this.push(null))
      .on("error", (error) => this.destroy(error))
      .on("close", () => this.destroy());
  }

  /** The handshake is over: from now on the bytes are compared with those of the content. */
  count(content: TLSSocket): void {
    this.#content = content;
    this.#received = 0;
  }

  /** What the server sent without need. */
  get wasted(): number {
    return Math.max(0, this.#besides - USUAL_BYTES);
  }

  get #besides(): number {
    if (!this.#content) return 0;
    const { bytesRead } = this.#content;
    return this.#received - bytesRead - bytesRead / CONTENT_PER_BESIDES;
  }

  override _read(): void {
    const { readableLength } = this.#plain;
    const part: Buffer | null = this.#plain.read(Math.min(readableLength, PART_BYTES) || undefined);
    if (part === null) return;
    this.#received += part.length;
    const refusal = this.#refuse();
    if (refusal) this.destroy(refusal);
    else this.push(part);
  }

  #refuse(): SendError | null {
    if (this.#content) {
      return this.#besides > BESIDES_BYTES_MAX ? new SendError("protocol", FLOOD) : null;
    }
    const is_long = this.#received > HANDSHAKE_BYTES_MAX;
    return is_long ? new SendError("tls", LONG_HANDSHAKE) : null;
  }

  override _write(chunk: Buffer, _encoding: string, done: (error?: Error | null) => void): void {
    this.#plain.write(chunk, done);
  }

  override _final(done: (error?: Error | null) => void): void {
    this.#plain.end(done);
  }

  override _destroy(error: Error | null, done: (error: Error | null) => void): void {
    this.#plain.destroy();
    done(error);
  }
}
