import type { BankAnswer } from "../../partners/bank/port.ts";
import { limitLockWait } from "../../platform/db/lock-wait.ts";
import { isLockConflict, isOutage } from "../../platform/db/outages.ts";
import { SECOND_MS } from "../../platform/durations.ts";
import type { TaskHandler } from "../../platform/tasks/run-set.ts";
import type { TaskSet } from "../../platform/tasks/task-set.ts";
import type { Task } from "../../platform/tasks/tasks.ts";
import { CHUNK } from "../fund-offramps.ts";
import { APPLY_KEPT_ANSWERS_TASK } from "../task-kinds.ts";
import { applyAnswers, type BankDeps } from "./apply-bank-answers.ts";
import { deleteKeptAnswers, listKeptAnswers } from "./kept-answers-store.ts";
import { splitAnswers } from "./split-answers.ts";

const LOCK_WAIT_MAX_MS = SECOND_MS;
const LOCKED_TRIED_AGAIN_AFTER_MS = SECOND_MS;

/**
 * Applies what is kept of an account, in the bank's order. A run takes one set, so that accounts
 * take turns; one that fails is tried again with growing pauses, as every task.
 */
export function applyKeptAnswersTask(deps: BankDeps): TaskHandler {
  return {
    kind: APPLY_KEPT_ANSWERS_TASK,
    // The failure of one account is not counted for others.
    set_max: 1,
    handle: async (set) => {
      for (const task of set.tasks) await applyFirst(deps, set, task);
    },
  };
}

async function applyFirst(deps: BankDeps, set: TaskSet, task: Task): Promise<void> {
  const { database } = deps;
  const { account_id } = task;
  const answers = await listKeptAnswers(database, account_id, CHUNK);
  let is_locked = false;
  try {
    for (const part of await splitAnswers(database, answers)) {
      await applyToFailure(deps, account_id, part, set.now);
    }
  } catch (error) {
    if (!isLockConflict(error)) throw error;
    is_locked = true;
  }
  const next_ms = set.now.getTime() + (is_locked ? LOCKED_TRIED_AGAIN_AFTER_MS : 0);
  await database.transaction(async (tx) => {
    const tasks = await set.lock(tx, [task]);
    // Under the lock: nobody keeps more until this is committed.
    const [left] = await listKeptAnswers(tx, account_id, 1);
    if (is_locked) set.postpone(tx, tasks, new Date(next_ms));
    else if (left) set.repeat(tx, tasks, set.now);
    else set.finish(tx, tasks);
  });
}

/** If a set fails, all before the answer that it fails at are applied. */
async function applyToFailure(
  deps: BankDeps,
  account_id: string,
  answers: readonly BankAnswer[],
  now: Date,
): Promise<void> {
  try {
    await deps.database.transaction(async (tx) => {
      limitLockWait(tx, LOCK_WAIT_MAX_MS);
      await applyAnswers(tx, deps, answers, now);
      deleteKeptAnswers(tx, account_id, answers);
    });
  } catch (error) {
    if (answers.length === 1 || isOutage(error) || isLockConflict(error)) throw error;
    const half = Math.ceil(answers.length / 2);
    await applyToFailure(deps, account_id, answers.slice(0, half), now);
    await applyToFailure(deps, account_id, answers.slice(half), now);
  }
}
