import { listAccounts } from "../accounts/store.ts";
import { deleteApplicationData } from "../kyc/application-store.ts";
import { sweepFiles } from "../kyc/task-kinds.ts";
import {
  deleteOldCorrections,
  updateOldDetails,
} from "../partners/bank/file-bank/old-details-store.ts";
import type { Database } from "../platform/db/database.ts";
import { DAY_MS, HOUR_MS } from "../platform/durations.ts";
import { FIRST_ID } from "../platform/ids.ts";
import { oneByOne } from "../platform/tasks/one-by-one.ts";
import { recurringTask } from "../platform/tasks/recurring-task.ts";
import type { TaskHandler } from "../platform/tasks/run-set.ts";
import type { TaskSet } from "../platform/tasks/task-set.ts";
import type { Task } from "../platform/tasks/tasks.ts";
import { lockUsers, type UserKey } from "../users/store.ts";
import { clearTracesTask } from "./clear-traces.ts";
import { loadFacts } from "./load-facts.ts";
import { addYears, type Retention, retentionOf } from "./model.ts";
import { ERASE_USER_TASK, recordErasure } from "./record-erasure.ts";
import type { RetentionDeps } from "./request-erasures.ts";
import { listUsersWithOldDocuments } from "./store.ts";

export const DELETE_DOCUMENTS_TASK = "delete-old-kyc-data";
export const DELETE_BANK_DETAILS_TASK = "delete-old-bank-details";

const DELETE_EVERY_MS = HOUR_MS;
/** Lines of banks per statement. */
const LINES_MAX = 1_000;
/** Read at a time, and deleted per account and run. */
const USERS_MAX = 1_000;
/** While there is no time from which the user can be erased: a month, as laws on erasure allow. */
const LOOKED_AT_AGAIN_AFTER_MS = 30 * DAY_MS;

type TaskDeps = RetentionDeps & { database: Database };

export function retentionTasks(deps: TaskDeps): TaskHandler[] {
  return [
    {
      kind: ERASE_USER_TASK,
      set_max: 10,
      handle: (set) => oneByOne(deps.database, set, (task) => eraseWhenPossible(deps, set, task)),
    },
    clearTracesTask(deps.database),
    recurringTask(deps.database, DELETE_DOCUMENTS_TASK, DELETE_EVERY_MS, ({ now }) =>
      deleteOldDocuments(deps, now),
    ),
    recurringTask(deps.database, DELETE_BANK_DETAILS_TASK, DELETE_EVERY_MS, ({ now }) =>
      deleteOldBankDetails(deps, now),
    ),
  ];
}

/** Erases a user whose erasure was requested, or waits until nothing has to be kept. */
function eraseWhenPossible(deps: TaskDeps, set: TaskSet, task: Task): Promise<void> {
  const key = { account_id: task.account_id, user_id: task.record_id };
  const { now } = set;
  return deps.database.transaction(async (tx) => {
    const tasks = await set.lock(tx, [task]);
    if (tasks.length === 0) return;
    const [user] = await lockUsers(tx, [key]);
    // Erased already, or the request was withdrawn.
    if (!user?.deactivated_at) return set.finish(tx, tasks);
    const facts = await loadFacts(tx, user);
    const retention = retentionOf(key.user_id, facts, deps.retention_years, now);
    if (retention.kept.length > 0) return set.repeat(tx, tasks, nextLook(retention, now));
    const reason = `requested on ${user.deactivated_at.toISOString().slice(0, 10)}`;
    recordErasure(tx, deps.keyring, key, { actor: "worker", reason }, now);
    set.finish(tx, tasks);
  });
}

function nextLook({ erase_after }: Retention, now: Date): Date {
  return erase_after ?? new Date(now.getTime() + LOOKED_AT_AGAIN_AFTER_MS);
}

/**
 * Deletes what banks said about people, when the period has passed since the payment: a user is
 * erased when it has passed since the last one, so nothing of theirs is left then.
 */
async function deleteOldBankDetails(deps: TaskDeps, now: Date): Promise<void> {
  const kept_since = addYears(now, -deps.retention_years);
  await deleteOldCorrections(deps.database, kept_since);
  while ((await updateOldDetails(deps.database, kept_since, LINES_MAX)) === LINES_MAX);
}

/** Deletes identity documents, of whomever, that no longer have to be kept. */
async function deleteOldDocuments(deps: TaskDeps, now: Date): Promise<void> {
  const kept_since = addYears(now, -deps.retention_years);
  for (const { id: account_id } of await listAccounts(deps.database)) {
    let deleted = 0;
    let after_id = FIRST_ID;
    while (deleted < USERS_MAX) {
      const found = await listUsersWithOldDocuments(
        deps.database,
        account_id,
        kept_since,
        after_id,
        USERS_MAX,
      );
      for (const user_id of found) {
        if (await deleteDocumentsOf(deps, { account_id, user_id }, kept_since, now)) deleted += 1;
      }
      if (found.length < USERS_MAX) break;
      after_id = found.at(-1)!;
    }
  }
}

/** False when something of the user must still be kept. */
function deleteDocumentsOf(
  deps: TaskDeps,
  key: UserKey,
  kept_since: Date,
  now: Date,
): Promise<boolean> {
  return deps.database.transaction(async (tx) => {
    const [user] = await lockUsers(tx, [key]);
    const facts = user && (await loadFacts(tx, user));
    // Payments that are not completed have moved money at some time: they count as the last one.
    const is_kept =
      facts !== undefined &&
      (facts.is_held || (facts.last_payment_at !== null && facts.last_payment_at > kept_since));
    if (is_kept) return false;
    deleteApplicationData(tx, key, kept_since, now);
    sweepFiles(tx, key, now);
    return true;
  });
}
