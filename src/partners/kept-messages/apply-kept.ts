import type { Database } from "../../platform/db/database.ts";
import { isLockConflict, isOutage } from "../../platform/db/outages.ts";
import { SECOND_MS } from "../../platform/durations.ts";
import { accountByAccount } from "../../platform/tasks/one-by-one.ts";
import type { TaskHandler } from "../../platform/tasks/run-set.ts";
import type { TaskSet } from "../../platform/tasks/task-set.ts";
import type { Task } from "../../platform/tasks/tasks.ts";
import type { Keeping } from "./keeping.ts";
import { deleteKept, listKept, listRecordsWithKept } from "./kept-store.ts";

const RECORDS_MAX = 100;
/** Of all records of an account in a set; then it is another account's turn. */
const MESSAGES_MAX = 300;
const LOCKED_TRIED_AGAIN_AFTER_MS = SECOND_MS;

/** Applies messages of one account, in their order; it may be repeated. */
type ApplyMessages<Message> = (account_id: string, messages: Message[], now: Date) => Promise<void>;

/**
 * Applies what is kept of records, in the partner's order. Those of an account are applied
 * together; if that fails, each record is tried alone, with growing pauses, as every task.
 */
export function applyKeptTask<Message>(
  database: Database,
  keeping: Keeping<Message>,
  apply: ApplyMessages<Message>,
): TaskHandler {
  return {
    kind: keeping.kind,
    set_max: RECORDS_MAX,
    handle: async (set) => {
      const failures: unknown[] = [];
      await accountByAccount(database, set, async (tasks) => {
        try {
          await applyKept(database, keeping, apply, set, tasks);
        } catch (error) {
          if (isOutage(error)) throw error;
          // What an account fails with is not counted for the others of the set.
          failures.push(error);
        }
      });
      if (failures.length > 0) throw failures[0];
    },
  };
}

/** The tasks of one account. */
async function applyKept<Message>(
  database: Database,
  keeping: Keeping<Message>,
  apply: ApplyMessages<Message>,
  set: TaskSet,
  tasks: readonly Task[],
): Promise<void> {
  const { kind } = keeping;
  const { account_id } = tasks[0]!;
  const record_ids = tasks.map(({ record_id }) => record_id);
  const kept = await listKept(database, keeping, account_id, record_ids, MESSAGES_MAX);
  const messages = kept.map(({ message }) => message);
  const is_locked = messages.length > 0 && (await isLocked(apply, account_id, messages, set.now));
  await database.transaction(async (tx) => {
    const locked = await set.lock(tx, tasks);
    if (is_locked) {
      const due_at = new Date(set.now.getTime() + LOCKED_TRIED_AGAIN_AFTER_MS);
      return set.postpone(tx, locked, due_at);
    }
    if (kept.length > 0) await deleteKept(tx, kind, account_id, kept);
    // Under the locks: nobody keeps more of these records until this is committed.
    const left = await listRecordsWithKept(tx, kind, account_id, record_ids);
    const { more = [], done = [] } = Object.groupBy(locked, ({ record_id }) =>
      left.has(record_id) ? "more" : "done",
    );
    set.repeat(tx, more, set.now);
    set.finish(tx, done);
  });
}

/** Whether somebody holds locks of the account, which is no failure. */
async function isLocked<Message>(
  apply: ApplyMessages<Message>,
  account_id: string,
  messages: Message[],
  now: Date,
): Promise<boolean> {
  try {
    await apply(account_id, messages, now);
    return false;
  } catch (error) {
    if (!isLockConflict(error)) throw error;
    return true;
  }
}
