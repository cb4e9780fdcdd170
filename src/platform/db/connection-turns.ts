import { SECOND_MS } from "../durations.ts";
import { Refusal } from "../errors.ts";
import { Shares } from "../shares.ts";
import type { CallerContext } from "./caller-context.ts";
import { DatabaseUnavailableError } from "./outages.ts";

/** Of the connections; the service's own work, such as payouts, does not wait for callers. */
const CALLERS_PART = 3 / 4;
/** A caller may use so many times what it leaves free: alone it uses three quarters. */
const USED_TO_FREE = 3;
/** Of one caller; each keeps its request in memory. */
const WAITING_MAX = 1_000;
const WAIT_MAX_MS = 10 * SECOND_MS;
const RETRY_AFTER_SECONDS = 1;

type Begin = () => void;
/** Requests that have begun come first: otherwise one would wait once for each statement. */
type Line = { begun: Set<Begin>; fresh: Set<Begin> };

/**
 * Who may use a connection next. Every caller has its share and a line of its own, and the lines
 * take turns: one that sends thousands of requests, to whatever route, delays only itself.
 */
export class ConnectionTurns {
  readonly #max: number;
  readonly #used: Shares;
  // In the order of their turns. Each waits because its caller has used its share, or all is used.
  readonly #lines = new Map<string, Line>();
  #waiting = 0;

  constructor(connections_max: number) {
    this.#max = Math.max(1, Math.floor(connections_max * CALLERS_PART));
    this.#used = new Shares(this.#max, this.#max, USED_TO_FREE);
  }

  get waiting(): number {
    return this.#waiting;
  }

  /** Resolves when it is the caller's turn, with the function that ends it. */
  async take(caller: CallerContext): Promise<() => void> {
    const { name } = caller;
    if (this.#lines.has(name) || !this.#used.take(name)) await this.#wait(caller);
    const end = () => this.#end(name);
    if (caller.is_gone && !caller.has_begun) {
      end();
      // Nobody reads this refusal.
      throw new Refusal("bad_request");
    }
    caller.has_begun = true;
    return end;
  }

  #wait({ name, has_begun }: CallerContext): Promise<void> {
    const line = this.#lines.get(name) ?? { begun: new Set(), fresh: new Set() };
    if (!has_begun && line.fresh.size >= WAITING_MAX) {
      throw new Refusal("too_many_requests", undefined, RETRY_AFTER_SECONDS);
    }
    this.#lines.set(name, line);
    this.#waiting += 1;
    const waiting = has_begun ? line.begun : line.fresh;
    return new Promise((resolve, reject) => {
      const leave = () => {
        clearTimeout(timer);
        waiting.delete(begin);
        this.#waiting -= 1;
        if (line.begun.size + line.fresh.size === 0) this.#lines.delete(name);
      };
      const begin = () => {
        leave();
        resolve();
      };
      const timer = setTimeout(() => {
        leave();
        reject(new DatabaseUnavailableError("no connection was free in time"));
      }, WAIT_MAX_MS);
      waiting.add(begin);
    });
  }

  #end(name: string): void {
    this.#used.leave(name);
    for (const [next, line] of this.#lines) {
      if (this.#used.sum >= this.#max) return;
      if (!this.#used.take(next)) continue;
      // Its turn after this one comes after those of the others.
      this.#lines.delete(next);
      this.#lines.set(next, line);
      const [begin] = line.begun.size > 0 ? line.begun : line.fresh;
      begin!();
    }
  }
}
