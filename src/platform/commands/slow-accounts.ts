import { SECOND_MS } from "../durations.ts";
import { LruMap } from "../lru-map.ts";

/** Most sets end after a few dozen milliseconds. */
export const SLOW_AFTER_MS = 300;
/** Of a slow set with many accounts so many are suspected: the others go on together. */
const SUSPECTED_MAX = 4;
const SUSPECTED_FOR_MS = 30 * SECOND_MS;
const ACCOUNTS_MAX = 10_000;

/** `in_slow_ms`: how long its slow sets took together since it was last cleared. */
type Notes = { in_slow_ms: number; until_ms: number };

/**
 * The accounts whose commands make sets slow, whatever the reason: what a command costs is not
 * always known before. Which account of a slow set it was shows when each has a set of its own.
 */
export class SlowAccounts {
  readonly #notes = new LruMap<string, Notes>(ACCOUNTS_MAX);
  /** Those suspected now, or until lately. */
  readonly #suspected = new Set<string>();
  get isEmpty(): boolean {
    return this.#suspected.size === 0;
  }

  has(account_id: string, now_ms: number): boolean {
    // Almost always empty, and asked for each set.
    if (!this.#suspected.has(account_id)) return false;
    if (this.#notesOf(account_id).until_ms > now_ms) return true;
    this.#suspected.delete(account_id);
    return false;
  }

  /** A set with commands of these accounts is slow, and took so long since this was said last. */
  noteSlow(account_ids: readonly string[], took_ms: number, now_ms: number): void {
    for (const account_id of account_ids) {
      const { in_slow_ms, until_ms } = this.#notesOf(account_id);
      this.#notes.set(account_id, { in_slow_ms: in_slow_ms + took_ms, until_ms });
    }
    this.#suspect(account_ids, now_ms);
  }

  noteFast([account_id, ...others]: readonly string[]): void {
    if (others.length > 0 || !this.#suspected.delete(account_id!)) return;
    this.#notes.delete(account_id!);
  }

  /** Those that were in slow sets for longest; the others of the set only happened to be there. */
  #suspect(account_ids: readonly string[], now_ms: number): void {
    for (const account_id of this.#suspected) this.has(account_id, now_ms);
    const slowest = account_ids.toSorted(
      (a, b) => this.#notesOf(b).in_slow_ms - this.#notesOf(a).in_slow_ms,
    );
    for (const account_id of slowest.slice(0, SUSPECTED_MAX)) {
      const { in_slow_ms } = this.#notesOf(account_id);
      this.#notes.set(account_id, { in_slow_ms, until_ms: now_ms + SUSPECTED_FOR_MS });
      this.#suspected.add(account_id);
    }
  }

  #notesOf(account_id: string): Notes {
    return this.#notes.get(account_id) ?? { in_slow_ms: 0, until_ms: 0 };
  }
}
