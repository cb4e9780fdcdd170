import type { Clock } from "../clock.ts";
import type { Database } from "../db/database.ts";
import { MINUTE_MS } from "../durations.ts";
import { recurringTask } from "../tasks/recurring-task.ts";
import type { TaskHandler } from "../tasks/run-set.ts";
import { attemptTime } from "./attempts.ts";
import { deleteAttempts } from "./store.ts";

export const TRIM_ATTEMPTS_TASK = "trim-attempts";
const EVERY_MS = MINUTE_MS;
/** Longer than any attempt takes. */
const KEPT_MS = 2 * MINUTE_MS;
const DELETED_AT_ONCE_MAX = 5_000;

/** Deletes the counts of windows that are over. */
export function trimAttemptsTask(database: Database, clock: Clock): TaskHandler {
  return recurringTask(database, TRIM_ATTEMPTS_TASK, EVERY_MS, async (set) => {
    const before = new Date(attemptTime.now(clock).getTime() - KEPT_MS);
    let deleted: number;
    do {
      deleted = await deleteAttempts(database, before, DELETED_AT_ONCE_MAX);
    } while (deleted === DELETED_AT_ONCE_MAX && set.isHeld());
  });
}
