import { limitLockWait } from "../../platform/db/lock-wait.ts";
import { isLockConflict, isOutage } from "../../platform/db/outages.ts";
import { SECOND_MS } from "../../platform/durations.ts";
import type { TaskHandler } from "../../platform/tasks/run-set.ts";
import type { TaskSet } from "../../platform/tasks/task-set.ts";
import type { Task } from "../../platform/tasks/tasks.ts";
import { CHUNK } from "../fund-offramps.ts";
import { APPLY_KEPT_ANSWERS_TASK } from "../task-kinds.ts";
import { applyAnswers, type BankDeps } from "./apply-bank-answers.ts";
import { deleteKeptAnswers, type KeptAnswer, listKeptAnswers } from "./kept-answers-store.ts";
import { splitAnswers } from "./split-answers.ts";

/** As many as a page of the reader has; then it is another account's turn. */
const SETS_PER_RUN_MAX = 4;
const LOCK_WAIT_MAX_MS = SECOND_MS;
const LOCKED_TRIED_AGAIN_AFTER_MS = SECOND_MS;

/**
 * Applies what is kept of an account, in the bank's order. A run takes a few sets, so that accounts
 * take turns; one that fails is tried again with growing pauses, as every task.
 */
export function applyKeptAnswersTask(deps: BankDeps): TaskHandler {
  return {
    kind: APPLY_KEPT_ANSWERS_TASK,
    // The failure of one account is not counted for others.
    set_max: 1,
    handle: async (set) => {
      for (const task of set.tasks) await applyKept(deps, set, task);
    },
  };
}

async function applyKept(deps: BankDeps, set: TaskSet, task: Task): Promise<void> {
  const { database } = deps;
  const { account_id } = task;
  const is_locked = await applySets(deps, account_id, set.now);
  await database.transaction(async (tx) => {
    const tasks = await set.lock(tx, [task]);
    // Under the lock: nobody keeps more until this is committed.
    const is_left = (await listKeptAnswers(tx, account_id, 0n, 1)).length > 0;
    if (is_locked) {
      set.postpone(tx, tasks, new Date(set.now.getTime() + LOCKED_TRIED_AGAIN_AFTER_MS));
    } else if (is_left) set.repeat(tx, tasks, set.now);
    else set.finish(tx, tasks);
  });
}

/** True if somebody holds locks of the account. */
async function applySets(deps: BankDeps, account_id: string, now: Date): Promise<boolean> {
  try {
    // Not from the beginning each time: what was deleted there is still in the index.
    let after = 0n;
    for (let sets = 0; sets < SETS_PER_RUN_MAX; sets += 1) {
      const answers = await listKeptAnswers(deps.database, account_id, after, CHUNK);
      for (const part of await splitAnswers(deps.database, answers)) {
        await applyToFailure(deps, account_id, part, now);
      }
      if (answers.length < CHUNK) break;
      after = answers.at(-1)!.place;
    }
    return false;
  } catch (error) {
    if (!isLockConflict(error)) throw error;
    return true;
  }
}

/** If a set fails, all before the answer that it fails at are applied. */
async function applyToFailure(
  deps: BankDeps,
  account_id: string,
  answers: readonly KeptAnswer[],
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
