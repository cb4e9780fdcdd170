import type { Database } from "../platform/db/database.ts";
import type { TaskHandler } from "../platform/tasks/run-set.ts";
import type { Task } from "../platform/tasks/tasks.ts";

const PARTNERS_ASKED_EVERY_MS = 1_000;

/** Polls a partner for messages: regularly, and at once when one is expected. */
export function partnerTask(
  database: Database,
  kind: string,
  ask: () => Promise<void>,
): TaskHandler {
  const isRecurring = (task: Task) => task.record_id === task.account_id;
  return {
    kind,
    set_max: 200,
    sets_at_once: 1,
    handle: async (set) => {
      await ask();
      await database.transaction(async (tx) => {
        const tasks = await set.lock(tx);
        const next = new Date(set.now.getTime() + PARTNERS_ASKED_EVERY_MS);
        set.repeat(tx, tasks.filter(isRecurring), next);
        set.finish(
          tx,
          tasks.filter((task) => !isRecurring(task)),
        );
      });
    },
  };
}
