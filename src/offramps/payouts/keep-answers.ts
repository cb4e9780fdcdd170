import type { BankAnswer } from "../../partners/bank/port.ts";
import type { Database } from "../../platform/db/database.ts";
import { LOCK_WAIT_MAX_MS, limitLockWait } from "../../platform/db/lock-wait.ts";
import { ensureTask } from "../../platform/tasks/tasks.ts";
import { APPLY_KEPT_ANSWERS_TASK } from "../task-kinds.ts";
import { insertKeptAnswers } from "./kept-answers-store.ts";

/**
 * Keeps answers of an account behind those that are kept of it already; a task applies them. Safe
 * to repeat: each is kept once, and one that is applied again changes nothing. Returns whether none
 * were kept before.
 */
export function keepAnswers(
  database: Database,
  account_id: string,
  answers: readonly BankAnswer[],
  now: Date,
): Promise<boolean> {
  return database.transaction(async (tx) => {
    limitLockWait(tx, LOCK_WAIT_MAX_MS);
    // Its lock also orders two readers, and the task does not end before it sees these rows.
    await ensureTask(tx, APPLY_KEPT_ANSWERS_TASK, { account_id, id: account_id }, now);
    return insertKeptAnswers(tx, account_id, answers, now);
  });
}
