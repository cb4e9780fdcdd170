import type { Clock } from "../clock.ts";
import type { Database } from "../db/database.ts";
import { DAY_MS, MINUTE_MS } from "../durations.ts";
import { firstIdAt } from "../ids.ts";
import { realTime } from "../tasks/real-time.ts";
import { recurringTask } from "../tasks/recurring-task.ts";
import type { TaskHandler } from "../tasks/run-set.ts";
import { deleteRequests } from "./store.ts";

export const TRIM_REQUESTS_TASK = "trim-requests";
const EVERY_MS = 10 * MINUTE_MS;
/** Of an account: whoever sends many refused requests must not fill the disk. */
const ROWS_KEPT = 100_000;
const DELETED_AT_ONCE_MAX = 5_000;

type TrimDeps = { database: Database; clock: Clock; days: number };

/** Deletes requests that are older than `days`, and those beyond the newest of an account. */
export function trimRequestsTask({ database, clock, days }: TrimDeps): TaskHandler {
  return recurringTask(database, TRIM_REQUESTS_TASK, EVERY_MS, async (set) => {
    const from_id = firstIdAt(new Date(realTime(clock).getTime() - days * DAY_MS));
    const accounts = await database.query<{ id: string }>("select id from accounts");
    for (const { id } of accounts) {
      let deleted: number;
      do {
        const kept = { from_id, rows: ROWS_KEPT };
        deleted = await deleteRequests(database, id, kept, DELETED_AT_ONCE_MAX);
      } while (deleted === DELETED_AT_ONCE_MAX && set.isHeld());
    }
  });
}
