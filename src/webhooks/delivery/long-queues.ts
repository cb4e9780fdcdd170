import { MINUTE_MS, SECOND_MS } from "../../platform/durations.ts";
import { FIRST_ID } from "../../platform/ids.ts";
import type { QueuePlace } from "./store.ts";

type AppKey = { account_id: string; id: string };

/** Where a turn begins to look for what is due. */
export type SearchStart = {
  after: QueuePlace | null;
  /** Most of the queue waits: a page looks at some of it only. */
  is_long: boolean;
  /** The records whose next delivery the turn before had found and not sent. */
  record_ids: readonly string[];
};

/** What a turn found. */
export type SearchResult = {
  start: SearchStart;
  /** How many entries it looked at. */
  looked_at: number;
  /** When it had looked at everything due, and all that it found was sent; else null. */
  sent_until: Date | null;
  /** The records of which it found something that it did not send. */
  left: readonly string[];
  /** Otherwise how far it came. */
  reached: QueuePlace | null;
  /** Whether all of the first entries wait for others; null if that is not known. */
  all_wait: boolean | null;
};

type LongQueue = {
  account_id: string;
  /** Everything up to here was looked at. */
  after: QueuePlace | null;
  left: readonly string[];
  /** When the last look from the start of the queue began, and the entries looked at since. */
  begun_ms: number;
  looked_at: number;
};

const FROM_START: SearchStart = { after: null, is_long: false, record_ids: [] };

const AGAIN_MIN_MS = 5 * SECOND_MS;
const AGAIN_MAX_MS = 2 * MINUTE_MS;
/** An entry is looked at in about 5 µs: an account's long queues take a twentieth of a core. */
const PAUSE_PER_ENTRY_MS = 0.1;
/** An entry may be committed this long after its due time. */
const LATE_MS = 5 * SECOND_MS;

/**
 * With ordered delivery, an event waits while an earlier one of its record does. Where an endpoint
 * refuses some records only, thousands may wait for days, with due times that have passed. So that
 * they are not looked at in each turn, a turn begins where the one before came to: what waited then
 * is loaded by its record once the earlier event has arrived. From time to time a turn begins at
 * the start all the same, for what another process, or a turn that failed, has left.
 */
export class LongQueues {
  readonly #by_app = new Map<string, LongQueue>();
  readonly #now_ms: () => number;

  constructor(now_ms = () => performance.now()) {
    this.#now_ms = now_ms;
  }

  begin({ account_id, id }: AppKey): SearchStart {
    const queue = this.#by_app.get(id);
    if (!queue) return FROM_START;
    const now_ms = this.#now_ms();
    const is_again = now_ms - queue.begun_ms >= this.#pauseMs(account_id);
    if (is_again) Object.assign(queue, { after: null, begun_ms: now_ms, looked_at: 0 });
    // Kept until the turn has ended: one that fails has sent nothing of it.
    return { after: queue.after, is_long: true, record_ids: queue.left };
  }

  ended({ account_id, id }: AppKey, result: SearchResult): void {
    const { start, looked_at, sent_until, reached, left, all_wait } = result;
    const known = this.#by_app.get(id);
    if (!known && !all_wait) return;
    if (all_wait === false && sent_until !== null) {
      this.#by_app.delete(id);
      return;
    }
    const begun_ms = this.#now_ms();
    const queue = known ?? { account_id, after: null, left, begun_ms, looked_at: 0 };
    queue.left = left;
    queue.looked_at += looked_at;
    queue.after = sent_until ? placeAt(sent_until) : (reached ?? start.after);
    this.#by_app.set(id, queue);
  }

  /** The application was deleted, or does without order. */
  forget({ id }: AppKey): void {
    this.#by_app.delete(id);
  }

  #pauseMs(account_id: string): number {
    let looked_at = 0;
    for (const queue of this.#by_app.values()) {
      if (queue.account_id === account_id) looked_at += queue.looked_at;
    }
    return Math.min(Math.max(AGAIN_MIN_MS, looked_at * PAUSE_PER_ENTRY_MS), AGAIN_MAX_MS);
  }
}

function placeAt(until: Date): QueuePlace {
  return { due_at: new Date(until.getTime() - LATE_MS).toISOString(), id: FIRST_ID };
}
