import { AccountMap } from "../account-map.ts";
import type { Database, Transaction } from "../db/database.ts";
import { deleteTasks, lockTasks, type TaskClaim, updatePostponed } from "./store.ts";
import type { Task } from "./tasks.ts";

/**
 * Due tasks of one kind, handed over together. Work ends in a transaction that locks the tasks,
 * writes what the work means and finishes, postpones or repeats them:
 *
 *     await database.transaction(async (tx) => {
 *       const tasks = await set.lock(tx);
 *       …write for `tasks`, and only for them…
 *       set.finish(tx, tasks);
 *     });
 */
export type TaskSet = {
  /** Of each account in order of due time; the accounts take turns. */
  tasks: readonly Task[];
  now: Date;
  /** Others may be due; of an account of this set, only ones that are due no earlier. */
  has_more: boolean;
  /**
   * The tasks (all, or the given ones) that this worker still owns, locked in key order. Tasks that
   * were ended before or that another worker has claimed are left out: do not work on them.
   */
  lock(tx: Transaction, tasks?: readonly Task[]): Promise<Task[]>;
  /** The work is done; the commit deletes the tasks. */
  finish(tx: Transaction, tasks: readonly Task[]): void;
  /** The work is not done: the tasks wait until `due_at` and keep their count of failures. */
  postpone(tx: Transaction, tasks: readonly Task[], due_at: DueAt): void;
  /** Recurring work succeeded: it is due again at `due_at`, and its failures are reset. */
  repeat(tx: Transaction, tasks: readonly Task[], due_at: DueAt): void;
  /** The same for all tasks of the set, where nothing else is written with it. */
  repeatAll(database: Database, due_at: Date): Promise<void>;
  /** False once the lease has expired: check before an action that must not happen twice. */
  isHeld(): boolean;
  /** The rest is mostly waiting: another set of the kind may start while this one continues. */
  leavePlace(): void;
};

type DueAt = Date | ((task: Task) => Date);

export function createTaskSet(
  claim: TaskClaim,
  leavePlace: () => void,
): { set: TaskSet; unended(): Task[] } {
  const unended = AccountMap.of(claim.tasks, (task) => task);
  const locked = new WeakMap<Transaction, Set<Task>>();

  const end = (tx: Transaction, tasks: readonly Task[]): void => {
    // Without the lock another worker could process the same task: its row would stay untouched
    // while this transaction's other writes happen a second time.
    if (!tasks.every((task) => locked.get(tx)?.has(task))) {
      throw new Error("a task can only be ended in a transaction that locked it");
    }
    for (const task of tasks) unended.delete(task.account_id, task.id);
  };
  const later = (tx: Transaction, tasks: readonly Task[], due_at: DueAt, succeeded: boolean) => {
    end(tx, tasks);
    if (tasks.length === 0) return;
    const dueAt = typeof due_at === "function" ? due_at : () => due_at;
    updatePostponed(tx, claim.lease_id, { tasks, dueAt, succeeded });
  };

  const set: TaskSet = {
    tasks: claim.tasks,
    now: claim.now,
    has_more: claim.more,
    lock: async (tx, tasks = claim.tasks) => {
      if (tasks.length === 0) return [];
      const rows = await lockTasks(tx, claim, tasks);
      const wanted = AccountMap.of(tasks, (task) => task);
      const ours = rows.map(({ account_id, id }) => wanted.get(account_id, id)!);
      locked.set(tx, new Set([...(locked.get(tx) ?? []), ...ours]));
      for (const task of tasks) unended.delete(task.account_id, task.id);
      // Includes tasks ended by a transaction that did not commit.
      for (const task of ours) unended.set(task.account_id, task.id, task);
      return ours;
    },
    finish: (tx, tasks) => {
      end(tx, tasks);
      if (tasks.length > 0) deleteTasks(tx, claim.lease_id, tasks);
    },
    postpone: (tx, tasks, due_at) => later(tx, tasks, due_at, false),
    repeat: (tx, tasks, due_at) => later(tx, tasks, due_at, true),
    repeatAll: (database, due_at) =>
      database.transaction(async (tx) => set.repeat(tx, await set.lock(tx), due_at)),
    isHeld: () => performance.now() < claim.held_until_ms,
    leavePlace,
  };
  return { set, unended: () => [...unended.values()] };
}
