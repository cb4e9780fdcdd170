import type { Database } from "../db/database.ts";
import { MINUTE_MS } from "../durations.ts";
import { Shares } from "../shares.ts";
import type { TaskSet } from "./task-set.ts";
import type { Task } from "./tasks.ts";

type Limits = {
  /** Slow tasks of one account at a time; those of all accounts. */
  per_account: number;
  of_all: number;
  slow_after_ms?: number;
};

const SLOW_AFTER_MS = 300;
const PUT_OFF_MIN_MS = 1_000;
const PUT_OFF_MAX_MS = 10 * MINUTE_MS;
/** How much the latest task counts for the mean time. */
const LATEST_SHARE = 0.1;

type Slow = { mean_ms: number; last_put_off_ms: number };

/**
 * Counts the tasks of a kind that take long, in this process. An account that has as many as it may
 * have waits with its others, so that they do not delay those of other accounts.
 */
export class SlowWork {
  readonly #limits: Required<Limits>;
  readonly #by_account = new Map<string, Slow>();
  readonly #shares: Shares;

  constructor(limits: Limits) {
    this.#limits = { slow_after_ms: SLOW_AFTER_MS, ...limits };
    this.#shares = new Shares(limits.of_all, limits.per_account);
  }

  /** An account without slow tasks may always begin. */
  isUsedUp(account_id: string): boolean {
    return this.#shares.of(account_id) > 0 && !this.#shares.has(account_id);
  }

  /** Whether sets of slow tasks may leave their place to others. */
  get isRoomLeft(): boolean {
    return this.#shares.sum < this.#limits.of_all;
  }

  /**
   * Returns the tasks of accounts with no share left to the queue; returns the others. An account
   * may begin one after the other, as fast as its earlier ones ended.
   */
  async putOff(database: Database, set: TaskSet): Promise<readonly Task[]> {
    const over = set.tasks.filter((task) => this.isUsedUp(task.account_id));
    if (over.length === 0) return set.tasks;
    const times = new Map(over.map((task) => [task, this.nextTime(task.account_id, set.now)]));
    await database.transaction(async (tx) => {
      set.postpone(tx, await set.lock(tx, over), (task) => times.get(task)!);
    });
    return set.tasks.filter((task) => !times.has(task));
  }

  /** Far ahead they are spread: later ones may take less long. */
  nextTime(account_id: string, now: Date): Date {
    const slow = this.#by_account.get(account_id)!;
    const step_ms = slow.mean_ms / this.#limits.per_account;
    const earliest_ms = now.getTime() + PUT_OFF_MIN_MS;
    const at_ms = Math.max(slow.last_put_off_ms + step_ms, earliest_ms);
    if (at_ms > now.getTime() + PUT_OFF_MAX_MS) {
      return new Date(earliest_ms + Math.random() * (PUT_OFF_MAX_MS - PUT_OFF_MIN_MS));
    }
    slow.last_put_off_ms = at_ms;
    return new Date(at_ms);
  }

  /** Counts the work once it is slow; then `onSlow` is called. */
  async count<Value>(
    account_id: string,
    onSlow: () => void,
    work: () => Promise<Value>,
  ): Promise<Value> {
    const { slow_after_ms } = this.#limits;
    const begun_ms = performance.now();
    let slow: Slow | undefined;
    const timer = setTimeout(() => {
      slow = this.#by_account.get(account_id) ?? {
        mean_ms: slow_after_ms,
        last_put_off_ms: 0,
      };
      this.#by_account.set(account_id, slow);
      this.#shares.add(account_id);
      onSlow();
    }, slow_after_ms);
    try {
      return await work();
    } finally {
      clearTimeout(timer);
      if (slow) {
        const took_ms = performance.now() - begun_ms;
        slow.mean_ms += (took_ms - slow.mean_ms) * LATEST_SHARE;
        this.#shares.leave(account_id);
        if (this.#shares.of(account_id) === 0) this.#by_account.delete(account_id);
      }
    }
  }
}
