import type { Socket } from "node:net";
import { SendError } from "./send-error.ts";

const BEGINNING = Buffer.from("HTTP/1.1 1");
/** 101 is an answer, and ends the exchange. */
const INTERIM = /^HTTP\/1\.1 1(?!01)\d\d[ \r\n]/;
/** So many bytes tell whether it is one. */
const INTERIM_LENGTH = 13;
const CR = 13;
const LF = 10;

/**
 * Some servers say `100 Continue` to whoever did not ask for it. A client has to bear that
 * (RFC 9110, 15.2), but undici ends the connection: so it is not shown what comes before the
 * answer, of which there may be as much as an answer's headers. None of it is kept.
 */
export function skipContinue(
  socket: Socket,
  exchange: { awaits_answer: boolean },
  bytes_max: number,
): void {
  const read = socket.read.bind(socket);
  const answers = new AnswerStarts();
  socket.read = (size?: number): Buffer | null => {
    // Node itself asks for 0 bytes, to fetch more: what came must stay for the reader.
    if (size !== undefined) return read(size);
    for (;;) {
      const chunk: Buffer | null = read();
      if (chunk === null || !exchange.awaits_answer) return chunk;
      const answer = answers.find(chunk);
      if (answers.skipped > bytes_max) {
        socket.destroy(new SendError("protocol", "Too much came before the answer itself."));
        return null;
      }
      if (answer === null) continue;
      exchange.awaits_answer = false;
      answers.skipped = 0;
      return answer;
    }
  };
}

/** Looks at each byte once. */
class AnswerStarts {
  skipped = 0;
  /** Too little to tell what it is. */
  #undecided: Buffer = Buffer.alloc(0);
  #is_skipping = false;
  #is_line_empty = false;

  /** What a chunk holds of the answer; null when it has not begun. */
  find(chunk: Buffer): Buffer | null {
    let rest = chunk;
    for (;;) {
      if (this.#is_skipping) rest = this.#skip(rest);
      else {
        rest = this.#undecided.length === 0 ? rest : Buffer.concat([this.#undecided, rest]);
        this.#undecided = Buffer.alloc(0);
        if (!mayBegin(rest)) return rest;
        if (rest.length < INTERIM_LENGTH) {
          this.#undecided = rest;
          return null;
        }
        if (!INTERIM.test(rest.toString("latin1", 0, INTERIM_LENGTH))) return rest;
        this.#is_skipping = true;
        this.#is_line_empty = false;
        this.skipped += INTERIM_LENGTH - 1;
        rest = rest.subarray(INTERIM_LENGTH - 1);
      }
      if (rest.length === 0) return null;
    }
  }

  /** What follows the blank line that ends the message; lines may end without CR. */
  #skip(bytes: Buffer): Buffer {
    for (let at = 0; at < bytes.length; at += 1) {
      const byte = bytes[at];
      if (byte === LF && this.#is_line_empty) {
        this.#is_skipping = false;
        this.skipped += at + 1;
        return bytes.subarray(at + 1);
      }
      if (byte === LF) this.#is_line_empty = true;
      else if (byte !== CR) this.#is_line_empty = false;
    }
    this.skipped += bytes.length;
    return bytes.subarray(bytes.length);
  }
}

function mayBegin(bytes: Buffer): boolean {
  const length = Math.min(bytes.length, BEGINNING.length);
  return BEGINNING.compare(bytes, 0, length, 0, length) === 0;
}
