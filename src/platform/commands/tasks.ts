import type { Clock } from "../clock.ts";
import type { Database } from "../db/database.ts";
import { HOUR_MS, MINUTE_MS } from "../durations.ts";
import { realTime } from "../tasks/real-time.ts";
import { recurringTask } from "../tasks/recurring-task.ts";
import type { TaskHandler } from "../tasks/run-set.ts";
import { deleteUnkeyedCommands } from "./store.ts";

export const TRIM_COMMANDS_TASK = "trim-commands";
const EVERY_MS = 10 * MINUTE_MS;
/** Much longer than the outcome of a commit is asked for. */
const KEPT_MS = HOUR_MS;
const DELETED_AT_ONCE_MAX = 5_000;

/** Deletes the rows of commands without an Idempotency-Key once they are not needed any more. */
export function trimCommandsTask(database: Database, clock: Clock): TaskHandler {
  return recurringTask(database, TRIM_COMMANDS_TASK, EVERY_MS, async () => {
    const accounts = await database.query<{ id: string }>("select id from accounts");
    const before = new Date(realTime(clock).getTime() - KEPT_MS);
    for (const { id } of accounts) await trimAccount(database, id, before);
  });
}

async function trimAccount(database: Database, account_id: string, before: Date): Promise<void> {
  let deleted: number;
  do {
    deleted = await deleteUnkeyedCommands(database, account_id, before, DELETED_AT_ONCE_MAX);
  } while (deleted === DELETED_AT_ONCE_MAX);
}
