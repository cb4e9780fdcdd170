import { performance } from "node:perf_hooks";
import { setTimeout as sleep } from "node:timers/promises";
import type { Clock } from "../clock.ts";
import type { Session } from "../db/database.ts";
import { KINDS } from "./kinds.ts";
import { realTime } from "./real-time.ts";

export type IdleDependencies = {
  database: Session;
  clock: Clock;
  /** Wakes the worker of this process, if it has one. */
  wake?: () => void;
};

const ASK_FIRST_MS = 2;
const ASK_MAX_MS = 50;
// How far another process's clock may be ahead of ours; also covers the first retry of a task.
const AHEAD_MAX_MS = 5_000;

/**
 * Waits until no task is due at the clock's time and none is running. Reads the table, so it covers
 * the workers of all processes. Returns false if that was not reached within `deadline_ms`.
 *
 * A task that is not yet due by our clock counts as well:
 * - while a worker runs it: that worker's clock may be ahead of ours;
 * - if it was due when it was written: the writer's clock may be ahead of ours;
 * - after its first failure, so that a transient one (a deadlock) is resolved when we return. A
 *   task that fails again is ignored: it could fail forever.
 */
export async function waitUntilIdle(deps: IdleDependencies, deadline_ms: number): Promise<boolean> {
  const end_ms = performance.now() + deadline_ms;
  for (let ask_ms = ASK_FIRST_MS; ; ask_ms = Math.min(ask_ms * 2, ASK_MAX_MS)) {
    if (await isIdle(deps)) return true;
    const left_ms = end_ms - performance.now();
    if (left_ms <= 0) return false;
    deps.wake?.();
    await sleep(Math.min(ask_ms, left_ms));
  }
}

async function isIdle({ database, clock }: IdleDependencies): Promise<boolean> {
  const now = clock.now();
  const is_waited_for = `t.due_at <= $2 and (
    t.due_at <= $1 or t.leased_until >= $3 or t.due_at <= t.created_at or t.attempts = 1)`;
  const rows = await database.query(
    database.by_account
      ? `select 1 from tasks t where ${is_waited_for} limit 1`
      : `${KINDS}
         select 1 from kinds where (
           select t.id from tasks t where t.kind = kinds.kind and ${is_waited_for}
           order by t.due_at limit 1
         ) is not null limit 1`,
    [now, new Date(now.getTime() + AHEAD_MAX_MS), realTime(clock)],
  );
  return rows.length === 0;
}
