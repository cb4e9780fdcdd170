import { Refusal } from "./errors.ts";

const RETRY_AFTER_SECONDS = 2;

/** Runs work a few at a time, in the order in which it was asked for. */
export class Turns {
  readonly #at_once_max: number;
  readonly #wait_max_ms: number;
  readonly #waiting = new Set<() => void>();
  #running = 0;

  /** What waits longer is refused as `unavailable`. */
  constructor(at_once_max: number, wait_max_ms: number) {
    this.#at_once_max = at_once_max;
    this.#wait_max_ms = wait_max_ms;
  }

  get is_idle(): boolean {
    return this.#running === 0;
  }

  async run<Result>(work: () => Promise<Result>): Promise<Result> {
    if (this.#running < this.#at_once_max) this.#running += 1;
    else await this.#nextTurn();
    try {
      return await work();
    } finally {
      const [next] = this.#waiting;
      // It takes over this turn.
      if (next) next();
      else this.#running -= 1;
    }
  }

  #nextTurn(): Promise<void> {
    return new Promise((resolve, reject) => {
      const go = () => {
        this.#waiting.delete(go);
        clearTimeout(timer);
        resolve();
      };
      const timer = setTimeout(() => {
        this.#waiting.delete(go);
        reject(new Refusal("unavailable", undefined, RETRY_AFTER_SECONDS));
      }, this.#wait_max_ms);
      this.#waiting.add(go);
    });
  }
}
