import type { Database } from "../db/database.ts";
import type { TaskSet } from "./task-set.ts";
import type { Task } from "./tasks.ts";

const FOR_MS = 500;

/**
 * Works a set off one task after the other. After half a second the rest is left to the next claim:
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
  return workOff(database, set, each, ([task]) => work(task!), for_ms);
}

/** The same where several tasks of a record are one piece of work: it gets all that the set has. */
export function recordByRecord(
  database: Database,
  set: TaskSet,
  work: (tasks: Task[]) => Promise<void>,
  for_ms = FOR_MS,
): Promise<void> {
  const by_record = Map.groupBy(set.tasks, (task) => `${task.account_id} ${task.record_id}`);
  return workOff(database, set, [...by_record.values()], work, for_ms);
}

async function workOff(
  database: Database,
  set: TaskSet,
  pieces: readonly Task[][],
  work: (tasks: Task[]) => Promise<void>,
  for_ms: number,
): Promise<void> {
  const begun_ms = performance.now();
  for (const [done, tasks] of pieces.entries()) {
    if (done > 0 && performance.now() - begun_ms > for_ms) {
      return putBack(database, set, pieces.slice(done).flat());
    }
    await work(tasks);
  }
}

async function putBack(database: Database, set: TaskSet, rest: readonly Task[]): Promise<void> {
  await database.transaction(async (tx) => {
    set.postpone(tx, await set.lock(tx, rest), (task) => task.due_at);
  });
}
