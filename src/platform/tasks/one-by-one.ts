import type { Database } from "../db/database.ts";
import type { TaskSet } from "./task-set.ts";
import type { Task } from "./tasks.ts";

const FOR_MS = 500;

/**
 * Works a set off one task after the other. After half a second the rest is left to the next claim:
 * both sets of a kind may be full of long tasks of one account, and those of others wait for the
 * end of one.
 */
export async function oneByOne(
  database: Database,
  set: TaskSet,
  work: (task: Task) => Promise<void>,
  for_ms = FOR_MS,
): Promise<void> {
  const begun_ms = performance.now();
  for (const [done, task] of set.tasks.entries()) {
    if (done > 0 && performance.now() - begun_ms > for_ms) {
      return putBack(database, set, set.tasks.slice(done));
    }
    await work(task);
  }
}

async function putBack(database: Database, set: TaskSet, rest: readonly Task[]): Promise<void> {
  await database.transaction(async (tx) => {
    set.postpone(tx, await set.lock(tx, rest), (task) => task.due_at);
  });
}
