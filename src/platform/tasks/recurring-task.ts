import type { Database } from "../db/database.ts";
import type { TaskHandler } from "./run-set.ts";
import type { TaskSet } from "./task-set.ts";

/** Work that is due again some time after it succeeded; a failure is retried earlier. */
export function recurringTask(
  database: Database,
  kind: string,
  every_ms: number,
  work: (set: TaskSet) => Promise<void>,
): TaskHandler {
  return {
    kind,
    is_single: true,
    // A set that is not full tells the worker that there is no more.
    set_max: 2,
    sets_at_once: 1,
    handle: async (set) => {
      await work(set);
      await set.repeatAll(database, new Date(set.now.getTime() + every_ms));
    },
  };
}
