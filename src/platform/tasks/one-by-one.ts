import type { Database } from "../db/database.ts";
import type { TaskSet } from "./task-set.ts";
import type { Task } from "./tasks.ts";

/** How long a set takes tasks of an account that are not its first. */
const TURN_MS = 500;

/**
 * Works on the tasks of a set one after the other. Each may take long, and those of other accounts
 * wait behind a set: accounts take turns in it, and what was not begun in time is given back, to be
 * claimed with what is due by then.
 */
export async function oneByOne(
  database: Database,
  set: TaskSet,
  work: (task: Task) => Promise<void>,
  turn_ms: number = TURN_MS,
): Promise<void> {
  const begun_ms = performance.now();
  const { first, later } = inTurns(set.tasks);
  for (const task of first) await work(task);
  for (const [at, task] of later.entries()) {
    if (performance.now() - begun_ms >= turn_ms) return giveBack(database, set, later.slice(at));
    await work(task);
  }
}

/** The first task of each account, and the others so that accounts take turns. */
function inTurns(tasks: readonly Task[]): { first: Task[]; later: Task[] } {
  const turns = new Map<string, number>();
  const placed = tasks.map((task) => {
    const turn = turns.get(task.account_id) ?? 0;
    turns.set(task.account_id, turn + 1);
    return { task, turn };
  });
  // The sort keeps the order of those with equal turns.
  const ordered = placed.sort((a, b) => a.turn - b.turn).map(({ task }) => task);
  return { first: ordered.slice(0, turns.size), later: ordered.slice(turns.size) };
}

/** They stay as they are: due since then. */
async function giveBack(database: Database, set: TaskSet, tasks: readonly Task[]): Promise<void> {
  await database.transaction(async (tx) => {
    set.postpone(tx, await set.lock(tx, tasks), ({ due_at }) => due_at);
  });
}
