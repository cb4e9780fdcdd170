import type { Clock } from "../clock.ts";
import { contextOfTasks, runFor } from "../db/caller-context.ts";
import type { Database } from "../db/database.ts";
import { backoffMs } from "./backoff.ts";
import { describeError, type Outage } from "./outage.ts";
import { realTime } from "./real-time.ts";
import { type TaskClaim, updateFailed, updateLeases } from "./store.ts";
import type { TaskLog } from "./task-log.ts";
import { createTaskSet, type TaskSet } from "./task-set.ts";
import type { Task } from "./tasks.ts";

export type TaskHandler = {
  kind: string;
  /** How many tasks it handles at once. */
  set_max: number;
  /** How many sets of fresh tasks may run at a time in one process. */
  sets_at_once?: number;
  /** There is one task of this kind: while it runs, nothing of the kind can be claimed. */
  is_single?: boolean;
  /**
   * Ends every task of the set, or throws; a throw fails those not ended. Must itself limit how
   * long it waits for anything: the lease is renewed as long as it runs.
   */
  handle: (set: TaskSet) => Promise<void>;
};

export type RunDependencies = {
  database: Database;
  clock: Clock;
  log: TaskLog;
  outage: Outage;
  lease_ms: number;
  /** Called when a handler has ended its set. */
  progressed: () => void;
};

/**
 * Runs a handler on claimed tasks, renews their lease meanwhile, records a failure. Returns for how
 * long it used the database.
 */
export async function runSet(
  deps: RunDependencies,
  handler: TaskHandler,
  claim: TaskClaim,
  leavePlace: () => void,
): Promise<number> {
  const account_ids = claim.tasks.map(({ account_id }) => account_id);
  const caller = contextOfTasks(handler.kind, account_ids);
  const { set, unended } = createTaskSet(claim, leavePlace);
  const renewal = startRenewal(deps, claim);
  try {
    await runFor(caller, () => handler.handle(set));
    const left = unended();
    if (left.length === 0) deps.progressed();
    else await fail(deps, claim, left, new Error("the handler did not finish this task"));
  } catch (error) {
    // Passes all tasks: the lease shows which were ended, whatever the handler assumes about its
    // commit.
    await fail(deps, claim, claim.tasks, error);
  } finally {
    clearInterval(renewal);
  }
  return caller.used_ms;
}

function startRenewal(deps: RunDependencies, claim: TaskClaim): NodeJS.Timeout {
  const { database, clock, outage, lease_ms } = deps;
  let renewing = false;
  const renew = async () => {
    if (renewing) return;
    renewing = true;
    const begun_ms = performance.now();
    const leased_until = new Date(realTime(clock).getTime() + lease_ms);
    try {
      await updateLeases(database, claim, leased_until);
      // An expired lease, for example after the process was frozen, may belong to another worker.
      if (begun_ms < claim.held_until_ms) claim.held_until_ms = begun_ms + lease_ms;
    } catch (error) {
      outage.failed(error);
    }
    renewing = false;
  };
  return setInterval(() => void renew(), lease_ms / 3);
}

async function fail(
  deps: RunDependencies,
  claim: TaskClaim,
  tasks: readonly Task[],
  error: unknown,
): Promise<void> {
  const { database, clock, log, outage } = deps;
  // All tasks of a set have the same attempts: 0, or it is a single task that failed before.
  const attempts = tasks[0]!.attempts + 1;
  const due_at = new Date(clock.now().getTime() + backoffMs(attempts));
  const last_error = describeError(error);
  try {
    const ids = await updateFailed(database, claim, { tasks, due_at, last_error });
    if (ids.length === 0) return;
    const { kind } = tasks[0]!;
    // The stack contains the message and code locations, but no data.
    const stack = error instanceof Error ? error.stack : undefined;
    log.warn(
      { kind, tasks: ids.length, attempts, task_id: ids[0], last_error, stack },
      "tasks failed and will be retried one by one",
    );
  } catch (unrecorded) {
    // The database is unavailable: the lease expires and the tasks are claimed again.
    outage.failed(unrecorded);
  }
}
