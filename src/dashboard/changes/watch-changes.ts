import type { Clock } from "../../platform/clock.ts";
import { runForService } from "../../platform/db/caller-context.ts";
import type { Session } from "../../platform/db/database.ts";
import { SECOND_MS } from "../../platform/durations.ts";
import { firstIdAt } from "../../platform/ids.ts";
import { LruMap } from "../../platform/lru-map.ts";
import type { TaskLog } from "../../platform/tasks/task-log.ts";
import { type Change, listChanges } from "./store.ts";

const LOOK_EVERY_MS = SECOND_MS;
/** A transaction that commits within this time after it named its events is not missed. */
const OVERLAP_MS = 15 * SECOND_MS;
const CHANGES_MAX = 200;
const SEEN_MAX = 20_000;

/** Null: too much happened at once to name it; the page reads everything again. */
export type Told = Change | null;
type Listener = (change: Told) => void;
type WatchDeps = { database: Session; clock: Clock; log: TaskLog };

export type ChangeWatch = {
  /** Tells of every change of the account until the returned function is called. */
  watch(account_id: string, tell: Listener): () => void;
  close(): void;
};

/**
 * Reads the new events of the accounts that somebody watches, once a second for all of them, and
 * nothing while nobody does.
 */
export function openChangeWatch({ database, clock, log }: WatchDeps): ChangeWatch {
  const listeners = new Map<string, Set<Listener>>();
  let seen = new LruMap<string, true>(SEEN_MAX);
  let timer: NodeJS.Timeout | undefined;
  let looked_at: Date | null = null;
  let began_at = clock.now();
  let is_looking = false;

  const tellAccount = (account_id: string, changes: readonly Told[]) => {
    for (const tell of listeners.get(account_id) ?? []) for (const change of changes) tell(change);
  };
  const look = async () => {
    const now = clock.now();
    const before = looked_at;
    looked_at = now;
    const since = new Date(now.getTime() - OVERLAP_MS);
    const changes = await listChanges(
      database,
      [...listeners.keys()],
      firstIdAt(since),
      CHANGES_MAX,
    );
    const fresh = changes.filter(({ id }) => !seen.get(id));
    for (const { id } of fresh) seen.set(id, true);
    // A page reads its lists when it begins to watch; a sandbox clock that was moved skips the
    // overlap.
    const is_skipped = before !== null && now.getTime() - before.getTime() > OVERLAP_MS;
    const told_from = before === null ? firstIdAt(began_at) : "";
    const told = fresh.filter(({ id }) => id >= told_from);
    const by_account = Map.groupBy(told, ({ account_id }) => account_id);
    for (const account_id of listeners.keys()) {
      const own = by_account.get(account_id) ?? [];
      // Each account by itself: one that is busy must not make the pages of all others read again.
      tellAccount(account_id, is_skipped || own.length >= CHANGES_MAX ? [null] : own);
    }
  };
  const tick = async () => {
    if (is_looking) return;
    is_looking = true;
    try {
      await look();
    } catch (error) {
      log.warn({ err: error }, "could not read changes for the dashboard");
    } finally {
      is_looking = false;
    }
  };
  const stop = () => {
    clearInterval(timer);
    timer = undefined;
    looked_at = null;
    seen = new LruMap(SEEN_MAX);
  };
  return {
    watch: (account_id, tell) => {
      const told = listeners.get(account_id) ?? new Set();
      listeners.set(account_id, told.add(tell));
      if (timer === undefined) began_at = clock.now();
      timer ??= runForService(() => setInterval(tick, LOOK_EVERY_MS));
      return () => {
        told.delete(tell);
        if (told.size === 0) listeners.delete(account_id);
        if (listeners.size === 0) stop();
      };
    },
    close: stop,
  };
}
