const LONG_MS = 1_000;
const SMALLEST_PART = 1 / 10;

/**
 * How many records a task takes in one transaction: half after one that took more than a second,
 * down to a tenth, twice after a short one. Other accounts wait for the end of the transaction.
 */
export class PartSize {
  readonly #max: number;
  #size: number;

  constructor(max: number) {
    this.#max = max;
    this.#size = max;
  }

  get size(): number {
    return this.#size;
  }

  note(took_ms: number): void {
    const min = Math.ceil(this.#max * SMALLEST_PART);
    if (took_ms > LONG_MS) this.#size = Math.max(min, Math.floor(this.#size / 2));
    else this.#size = Math.min(this.#max, this.#size * 2);
  }
}
