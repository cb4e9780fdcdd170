import type { Database } from "../db/database.ts";
import type { TaskSet } from "./task-set.ts";
import type { Task } from "./tasks.ts";

const FOR_MS = 500;

/**
 * Runs the tasks of a set one after the other. After half a second the rest goes back to the queue:
 * both sets of a kind may be full of long tasks of one account, and those of others wait for the
 * end of one.
 */
export function oneByOne(
  database: Database,
  set: TaskSet,
  work: (task: Task) => Promise<void>,
  for_ms = FOR_MS,
): Promise<void> {
  const each = set.tasks.map((task) => [task]);
  return runGroups(database, set, each, ([task]) => work(task!), for_ms);
}

/** The same where the tasks of one record are done together. */
export function recordByRecord(
  database: Database,
  set: TaskSet,
  work: (tasks: Task[]) => Promise<void>,
  for_ms = FOR_MS,
): Promise<void> {
  const by_record = Map.groupBy(set.tasks, (task) => `${task.account_id} ${task.record_id}`);
  return runGroups(database, set, [...by_record.values()], work, for_ms);
}

/** The same where the tasks of one account are done together. */
export function accountByAccount(
  database: Database,
  set: TaskSet,
  work: (tasks: Task[]) => Promise<void>,
  for_ms = FOR_MS,
): Promise<void> {
  const by_account = Map.groupBy(set.tasks, (task) => task.account_id);
  return runGroups(database, set, [...by_account.values()], work, for_ms);
}

async function runGroups(
  database: Database,
  set: TaskSet,
  groups: readonly Task[][],
  work: (tasks: Task[]) => Promise<void>,
  for_ms: number,
): Promise<void> {
  const begun_ms = performance.now();
  for (const [done, tasks] of groups.entries()) {
    if (done > 0 && performance.now() - begun_ms > for_ms) {
      return putBack(database, set, groups.slice(done).flat());
    }
    await work(tasks);
  }
}

async function putBack(database: Database, set: TaskSet, rest: readonly Task[]): Promise<void> {
  await database.transaction(async (tx) => {
    set.postpone(tx, await set.lock(tx, rest), (task) => task.due_at);
  });
}
