import type { Database } from "../../platform/db/database.ts";
import { LOCK_WAIT_MAX_MS, limitLockWait } from "../../platform/db/lock-wait.ts";
import { isLockConflict, isOutage } from "../../platform/db/outages.ts";
import { describeError } from "../../platform/tasks/outage.ts";
import type { TaskLog } from "../../platform/tasks/task-log.ts";
import { ensureTasks } from "../../platform/tasks/tasks.ts";
import type { Keeping } from "./keeping.ts";
import { insertKept, listRecordsWithKept } from "./kept-store.ts";

/*
 * A partner's messages are read with one cursor for all accounts. Where those of an account cannot
 * be applied, because one of its rows was changed by SQL or somebody holds its locks, they are
 * kept, and so are the next ones of the same record (a payout, a quote) while any of it are. The
 * cursor goes on, and a task of the record applies them (`apply-kept.ts`). Messages of other
 * records do not wait: order matters within a record only, and balances that records share are
 * checked by whoever posts to them.
 *
 * Keeping commits before the cursor moves, and applying a message again changes nothing, so the
 * process may end anywhere between.
 */

/** One read of a partner's messages. */
export type Reading<Message> = {
  database: Database;
  log: TaskLog;
  keeping: Keeping<Message>;
  /** Accounts of which something failed: what follows in this read is kept without being tried. */
  failing: Set<string>;
  /** Accounts whose messages could not be kept either: they are read again next time. */
  behind: Set<string>;
};

export function beginReading<Message>(
  database: Database,
  log: TaskLog,
  keeping: Keeping<Message>,
): Reading<Message> {
  return { database, log, keeping, failing: new Set(), behind: new Set() };
}

/** Applies the messages of one account, or keeps them. */
export async function takeMessages<Message>(
  reading: Reading<Message>,
  account_id: string,
  messages: readonly Message[],
  has_kept: boolean,
  apply: (messages: Message[]) => Promise<void>,
  now: Date,
): Promise<void> {
  const { database, failing, behind, keeping } = reading;
  const keep = (some: readonly Message[], why: unknown = null) =>
    keepOrNote(reading, account_id, some, why, now);
  if (behind.has(account_id)) return;
  if (failing.has(account_id)) return keep(messages);
  const records = [...new Set(messages.map(keeping.recordOf))];
  const kept = has_kept
    ? await listRecordsWithKept(database, keeping.kind, account_id, records)
    : new Set<string>();
  const isNext = (message: Message) => kept.has(keeping.recordOf(message));
  await keep(messages.filter(isNext));
  const free = messages.filter((message) => !isNext(message));
  if (behind.has(account_id) || free.length === 0) return;
  try {
    await apply(free);
  } catch (error) {
    if (isOutage(error)) throw error;
    failing.add(account_id);
    await keep(free, error);
  }
}

/** `why` is null where earlier ones failed. */
async function keepOrNote<Message>(
  reading: Reading<Message>,
  account_id: string,
  messages: readonly Message[],
  why: unknown,
  now: Date,
): Promise<void> {
  if (messages.length === 0) return;
  try {
    const is_first = await keepMessages(reading, account_id, messages, now);
    if (is_first && why !== null && !isLockConflict(why)) warn(reading, account_id, why);
  } catch (error) {
    if (isOutage(error)) throw error;
    reading.behind.add(account_id);
    if (!isLockConflict(error)) warn(reading, account_id, error);
  }
}

/** Safe to repeat: each is kept once, and one that is applied again changes nothing. */
function keepMessages<Message>(
  { database, keeping }: Reading<Message>,
  account_id: string,
  messages: readonly Message[],
  now: Date,
): Promise<boolean> {
  const ids = new Set(messages.map(keeping.recordOf));
  const records = [...ids].map((id) => ({ account_id, id }));
  return database.transaction(async (tx) => {
    limitLockWait(tx, LOCK_WAIT_MAX_MS);
    // Their locks also order two readers, and no task ends before it sees these rows.
    await ensureTasks(tx, keeping.kind, records, now);
    return insertKept(tx, keeping, account_id, messages, now);
  });
}

function warn<Message>({ log, keeping }: Reading<Message>, account_id: string, why: unknown): void {
  const error = describeError(why);
  log.warn({ account_id, error }, `${keeping.what} of an account cannot be applied`);
}
