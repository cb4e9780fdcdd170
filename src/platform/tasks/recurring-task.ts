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
    // There is one such task. A set that is not full tells the worker so, which would otherwise
    // claim again after each run, and from every look while it runs.
    set_max: 2,
    sets_at_once: 1,
    handle: async (set) => {
      await work(set);
      await database.transaction(async (tx) => {
        set.repeat(tx, await set.lock(tx), new Date(set.now.getTime() + every_ms));
      });
    },
  };
}
