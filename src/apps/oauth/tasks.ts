import type { Clock } from "../../platform/clock.ts";
import type { Database } from "../../platform/db/database.ts";
import { MINUTE_MS } from "../../platform/durations.ts";
import { realTime } from "../../platform/tasks/real-time.ts";
import { recurringTask } from "../../platform/tasks/recurring-task.ts";
import type { TaskHandler } from "../../platform/tasks/run-set.ts";
import { deleteExpiredArtifacts } from "./artifacts-store.ts";

export const SWEEP_OAUTH_TASK = "sweep-oauth";
const EVERY_MS = 10 * MINUTE_MS;
const DELETED_AT_ONCE_MAX = 1_000;

/** Deletes expired codes, tokens and sessions; they are refused from their expiry on. */
export function sweepOauthTask(database: Database, clock: Clock): TaskHandler {
  return recurringTask(database, SWEEP_OAUTH_TASK, EVERY_MS, async () => {
    let deleted: number;
    do {
      deleted = await deleteExpiredArtifacts(database, realTime(clock), DELETED_AT_ONCE_MAX);
    } while (deleted === DELETED_AT_ONCE_MAX);
  });
}
