import { SECOND_MS } from "../durations.ts";
import { Refusal } from "../errors.ts";
import { Shares } from "../shares.ts";
import type { CallerContext } from "./caller-context.ts";
import { NoTurnError } from "./outages.ts";

/** Requests may use so much of the connections, and so may tasks. */
const PART = 3 / 4;
/** Of the callers' connections, for all networks together whose account is not known. */
const UNKNOWN_PART = 1 / 2;
/** Of one caller; each keeps its request in memory. */
const WAITING_MAX = 1_000;
const RETRY_AFTER_SECONDS = 1;

type Begin = () => void;
/** Requests that have begun come first: otherwise one would wait once for each statement. */
type Line = { begun: Set<Begin>; fresh: Set<Begin> };
/** Accounts, or networks whose account is not known. */
type Kind = {
  // In the order of their turns. Each waits because its caller has used its share, or all is used.
  lines: Map<string, Line>;
  used: number;
  used_max: number;
};

/** A caller may use so many times what it leaves free: alone it uses three quarters of these. */
const USED_TO_FREE = 3;

/** Null for as long as it takes. */
type Rules = { wait_max_ms: number | null };

export const REQUEST_TURNS: Rules = { wait_max_ms: 10 * SECOND_MS };
/** Tasks keep their lease while they wait. */
export const TASK_TURNS: Rules = { wait_max_ms: null };

/**
 * Who may use a connection next. Every caller has its share and a line of its own, and the lines
 * take turns: one that sends thousands of requests, to whatever route, delays only itself. Known
 * and unknown callers also take turns with each other: however many networks somebody has, an
 * account waits for one of them at a time.
 */
export class ConnectionTurns {
  readonly #max: number;
  readonly #wait_max_ms: number | null;
  readonly #used: Shares;
  readonly #known: Kind;
  readonly #unknown: Kind;
  #next: Kind;
  #waiting = 0;

  constructor(connections_max: number, { wait_max_ms }: Rules = REQUEST_TURNS) {
    this.#max = Math.max(1, Math.floor(connections_max * PART));
    this.#wait_max_ms = wait_max_ms;
    this.#used = new Shares(this.#max, this.#max, USED_TO_FREE);
    this.#known = { lines: new Map(), used: 0, used_max: this.#max };
    const unknown_max = Math.max(1, Math.floor(this.#max * UNKNOWN_PART));
    this.#unknown = { lines: new Map(), used: 0, used_max: unknown_max };
    this.#next = this.#known;
  }

  get waiting(): number {
    return this.#waiting;
  }

  /** Resolves when it is the caller's turn, with the function that ends it. */
  async take(caller: CallerContext): Promise<() => void> {
    const { name } = caller;
    const kind = caller.is_known ? this.#known : this.#unknown;
    if (kind.lines.has(name) || !this.#use(kind, name)) await this.#wait(kind, caller);
    const end = () => this.#end(kind, name);
    if (caller.is_gone && !caller.has_begun) {
      end();
      // Nobody reads this refusal.
      throw new Refusal("bad_request");
    }
    caller.has_begun = true;
    return end;
  }

  #use(kind: Kind, name: string): boolean {
    if (kind.used >= kind.used_max || !this.#used.take(name)) return false;
    kind.used += 1;
    return true;
  }

  #wait({ lines }: Kind, { name, has_begun }: CallerContext): Promise<void> {
    const line = lines.get(name) ?? { begun: new Set(), fresh: new Set() };
    if (!has_begun && line.fresh.size >= WAITING_MAX) {
      throw new Refusal("too_many_requests", undefined, RETRY_AFTER_SECONDS);
    }
    lines.set(name, line);
    this.#waiting += 1;
    const waiting = has_begun ? line.begun : line.fresh;
    return new Promise((resolve, reject) => {
      const leave = () => {
        clearTimeout(timer);
        waiting.delete(begin);
        this.#waiting -= 1;
        if (line.begun.size + line.fresh.size === 0) lines.delete(name);
      };
      const begin = () => {
        leave();
        resolve();
      };
      const giveUp = () => {
        leave();
        reject(new NoTurnError("no connection was free in time"));
      };
      const timer = this.#wait_max_ms === null ? undefined : setTimeout(giveUp, this.#wait_max_ms);
      waiting.add(begin);
    });
  }

  #end(kind: Kind, name: string): void {
    this.#used.leave(name);
    kind.used -= 1;
    while (this.#used.sum < this.#max) {
      const second = this.#next === this.#known ? this.#unknown : this.#known;
      const begun = [this.#next, second].find((kind) => this.#beginNext(kind));
      if (!begun) return;
      this.#next = begun === this.#known ? this.#unknown : this.#known;
    }
  }

  #beginNext(kind: Kind): boolean {
    for (const [name, line] of kind.lines) {
      if (!this.#use(kind, name)) continue;
      // Its turn after this one comes after those of the others.
      kind.lines.delete(name);
      kind.lines.set(name, line);
      const [begin] = line.begun.size > 0 ? line.begun : line.fresh;
      begin!();
      return true;
    }
    return false;
  }
}
