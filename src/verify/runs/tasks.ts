import type { Transaction } from "../../platform/db/database.ts";
import { Refusal } from "../../platform/errors.ts";
import type { ModuleCore } from "../../platform/module.ts";
import { realTime } from "../../platform/tasks/real-time.ts";
import type { TaskHandler } from "../../platform/tasks/run-set.ts";
import type { TaskSet } from "../../platform/tasks/task-set.ts";
import { enqueueTasks } from "../../platform/tasks/tasks.ts";
import type { VerifyProgress } from "../verify.ts";
import { deleteRunning, insertRunning, insertVerification, updateRunning } from "./store.ts";
import { type VerifyBooksDeps, verifyBooks } from "./verify-books.ts";

const VERIFY_BOOKS_TASK = "verify-books";
const SHOWN_EVERY_MS = 1_000;

/** Starts a check of all books in the background; refuses while one runs. */
export async function startVerification(
  {
    database,
    clock,
    operator_id,
    wake,
  }: Pick<ModuleCore, "database" | "clock" | "operator_id" | "wake">,
  requested_by: string,
  assertActive: (tx: Transaction) => Promise<unknown>,
): Promise<void> {
  await database.transaction(async (tx) => {
    await assertActive(tx);
    const requested_at = realTime(clock);
    if (!(await insertRunning(tx, { account_id: operator_id, requested_by, requested_at }))) {
      throw new Refusal("invalid_transition", "A check is running already. Its result comes next.");
    }
    const record = { account_id: operator_id, id: operator_id };
    enqueueTasks(tx, VERIFY_BOOKS_TASK, [record], clock.now());
  });
  wake();
}

/** Reads everything in one transaction, which may take minutes. */
export function verifyBooksTask(deps: VerifyBooksDeps): TaskHandler {
  const handle = (set: TaskSet) => runVerification(deps, set);
  return { kind: VERIFY_BOOKS_TASK, is_single: true, set_max: 1, sets_at_once: 1, handle };
}

async function runVerification(deps: VerifyBooksDeps, set: TaskSet): Promise<void> {
  const { database, index_key } = deps;
  const account_id = set.tasks[0]?.account_id;
  if (account_id === undefined) return;
  const run = await verifyBooks(deps, { onProgress: showProgress(deps, account_id) });
  await database.transaction(async (tx) => {
    const tasks = await set.lock(tx);
    if (tasks.length > 0) {
      insertVerification(tx, index_key, run);
      deleteRunning(tx, account_id);
    }
    set.finish(tx, tasks);
  });
}

/** Writes how far it is, about once a second; what cannot be written is shown later. */
function showProgress({ database, clock }: VerifyBooksDeps, account_id: string) {
  let shown_ms = 0;
  return (progress: VerifyProgress) => {
    if (performance.now() - shown_ms < SHOWN_EVERY_MS) return;
    shown_ms = performance.now();
    const updated_at = realTime(clock);
    updateRunning(database, { account_id, ...progress, updated_at }).catch(() => {});
  };
}
