import { setTimeout as pause } from "node:timers/promises";
import type { Clock } from "../clock.ts";
import type { Database } from "../db/database.ts";
import { keyedHash } from "../encryption/cipher.ts";
import type { RateLimit } from "../http/rate-limit.ts";
import { LruMap } from "../lru-map.ts";
import { realTime } from "../tasks/real-time.ts";
import { createWorkLimit } from "../work-limit.ts";
import { type AttemptKey, findAttempts, updateEnded, upsertBegun, upsertFailure } from "./store.ts";

/**
 * Limits how many wrong secrets a caller can try in a window, across all processes: the counts are
 * rows in the database. Callers that reached the limit are also cached in memory, so that further
 * attempts do not query the database.
 *
 * The states of an attempt started with `begin`:
 *
 *     allowed ─▶ in progress ─▶ succeeded: not counted
 *                            └▶ failed: counted
 *
 * Every attempt in progress may still fail, so no more may start than the limit allows to fail. The
 * others wait.
 */
export type Attempts = {
  /** Counts an attempt, whether it succeeds or fails. */
  take(caller: string): Promise<RateLimit>;
  /** Whether one more attempt would be allowed. Counts nothing. */
  look(caller: string): Promise<RateLimit>;
  begin(caller: string): Promise<RateLimit & { end(has_failed: boolean): Promise<void> }>;
};

export type AttemptDeps = { database: Database; index_key: Buffer; clock: Clock };
type AttemptRule = { purpose: string; limit: number; window_ms: number };

const BLOCKED_MAX = 100_000;
/** How often to check for attempts in progress in other processes before giving up. */
const WAITS_MAX = 40;
const WAIT_MS = 50;
/** Attempts of one caller that wait in this process, before they query the database. */
const WAITING_MAX = 1_000;

/** Real time, the same in all processes. */
export const attemptTime = { now: realTime };

export function createAttempts(deps: AttemptDeps, rule: AttemptRule): Attempts {
  const { database, index_key, clock } = deps;
  const { purpose, limit, window_ms } = rule;
  const blocked = new LruMap<string, number>(BLOCKED_MAX);
  const limitQueries = createWorkLimit({ at_once: limit, waiting_max: WAITING_MAX });

  const keyOf = (caller: string): AttemptKey => {
    const now_ms = attemptTime.now(clock).getTime();
    const window_ends_at = new Date((Math.floor(now_ms / window_ms) + 1) * window_ms);
    return { window_ends_at, caller_hash: keyedHash(index_key, `attempts ${purpose}`, caller) };
  };
  const describe = ({ window_ends_at }: AttemptKey, used: number): RateLimit => ({
    allowed: used <= limit,
    limit,
    remaining: Math.max(0, limit - used),
    reset_seconds: Math.ceil((window_ends_at.getTime() - attemptTime.now(clock).getTime()) / 1000),
  });
  const isBlocked = (caller: string, key: AttemptKey) =>
    blocked.get(caller) === key.window_ends_at.getTime();
  const refuse = (caller: string, key: AttemptKey): RateLimit => {
    blocked.set(caller, key.window_ends_at.getTime());
    return describe(key, limit + 1);
  };
  const endOf = (key: AttemptKey) => (has_failed: boolean) =>
    updateEnded(database, key, has_failed);

  const unlimited: Attempts = {
    take: async (caller) => {
      const key = keyOf(caller);
      if (isBlocked(caller, key)) return refuse(caller, key);
      const counts = await upsertFailure(database, key, limit);
      return counts ? describe(key, counts.failed) : refuse(caller, key);
    },
    look: async (caller) => {
      const key = keyOf(caller);
      if (isBlocked(caller, key)) return refuse(caller, key);
      const counts = await findAttempts(database, key);
      const failed = counts?.failed ?? 0;
      return failed < limit ? describe(key, failed) : refuse(caller, key);
    },
    begin: async (caller) => {
      for (let waits = 0; ; waits += 1) {
        const key = keyOf(caller);
        const end = endOf(key);
        if (isBlocked(caller, key)) return { ...refuse(caller, key), end };
        const begun = await upsertBegun(database, key, limit);
        if (begun) return { ...describe(key, begun.failed), end };
        const counts = await findAttempts(database, key);
        if ((counts?.failed ?? 0) >= limit) return { ...refuse(caller, key), end };
        // Not cached: the attempts in progress may all succeed.
        if (waits === WAITS_MAX) return { ...describe(key, limit + 1), end };
        await pause(WAIT_MS);
      }
    },
  };
  return {
    take: (caller) => limitQueries(caller, () => unlimited.take(caller)),
    look: (caller) => limitQueries(caller, () => unlimited.look(caller)),
    begin: (caller) => limitQueries(caller, () => unlimited.begin(caller)),
  };
}
