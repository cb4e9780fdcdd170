import type { Database } from "../db/database.ts";
import type { TaskHandler } from "../tasks/run-set.ts";

export const TRIM_COMMANDS_TASK = "trim-commands";
const EVERY_MS = 10 * 60 * 1000;
/** Long past the time in which anyone could still ask whether a commit happened. */
const KEPT_MS = 60 * 60 * 1000;

/** Removes the rows of commands without an Idempotency-Key, which nobody will ask for again. */
export function trimCommandsTask(database: Database): TaskHandler {
  return {
    kind: TRIM_COMMANDS_TASK,
    set_max: 1,
    handle: async (set) => {
      const before = new Date(set.now.getTime() - KEPT_MS);
      const accounts = await database.query<{ id: string }>("select id from accounts");
      for (const { id } of accounts) {
        await database.query(
          `delete from commands
           where account_id = $1 and created_at < $2 and idempotency_index is null`,
          [id, before],
        );
      }
      await database.transaction(async (tx) => {
        const tasks = await set.lock(tx);
        set.repeat(tx, tasks, new Date(set.now.getTime() + EVERY_MS));
      });
    },
  };
}
