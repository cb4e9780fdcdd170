/** As much as the requests of a set: what is written and answered together is bounded by both. */
const ANSWER_BYTES_MAX = 1_000_000;

/**
 * How much a set may answer, or load. A request of 200 bytes can have an answer of megabytes, which
 * are rendered, encrypted and kept until the commit. What comes after the limit is put off to a
 * later set; the first command is always processed.
 */
export class ByteBudget {
  #left: number;

  constructor(bytes = ANSWER_BYTES_MAX) {
    this.#left = bytes;
  }

  get is_spent(): boolean {
    return this.#left <= 0;
  }

  spend(bytes: number): void {
    this.#left -= bytes;
  }
}
