import { createHash } from "node:crypto";
import type { Session, Transaction } from "../db/database.ts";
import { newId } from "../ids.ts";

/** Work for later: which record, what kind of work, and when. Everything else is in the record. */
export type NewTask = {
  account_id: string;
  id: string;
  kind: string;
  record_id: string;
  due_at: Date;
  created_at: Date;
};

export type Task = NewTask & {
  /** How often in a row its handler has failed. */
  attempts: number;
};

/** Work on a record that is due at once. */
export function taskNow(
  kind: string,
  record: { account_id: string; id: string },
  now: Date,
): NewTask {
  const { account_id, id } = record;
  return { account_id, id: newId(now), kind, record_id: id, due_at: now, created_at: now };
}

/** The tasks become rows of the caller's transaction: they exist if and only if it commits. */
export function enqueueTasks(tx: Transaction, tasks: readonly NewTask[]): void {
  if (tasks.length === 0) return;
  tx.write(
    `insert into tasks (account_id, id, kind, record_id, due_at, created_at)
     select * from unnest($1::uuid[], $2::uuid[], $3::text[], $4::uuid[],
       $5::timestamptz[], $6::timestamptz[])`,
    [
      tasks.map((task) => task.account_id),
      tasks.map((task) => task.id),
      tasks.map((task) => task.kind),
      tasks.map((task) => task.record_id),
      tasks.map((task) => task.due_at.toISOString()),
      tasks.map((task) => task.created_at.toISOString()),
    ],
  );
}

/**
 * Gives the account the one task of a recurring kind, unless it has it. The handler moves that
 * row on with `repeat`, so it is there for good; two processes that start at once derive the same
 * id. Recurring work concerns no record, hence `record_id` is the account: `advanceClock` knows
 * such tasks by it.
 */
export async function ensureRecurring(
  session: Session,
  recurring: { account_id: string; kind: string; now: Date },
): Promise<void> {
  const { account_id, kind, now } = recurring;
  await session.query(
    `insert into tasks (account_id, id, kind, record_id, due_at, created_at)
     select $1, $2, $3, $1, $4, $4
     where not exists (
       select 1 from tasks where record_id = $1 and kind = $3 and account_id = $1
     )
     on conflict do nothing`,
    [account_id, recurringId(account_id, kind), kind, now],
  );
}

/** A UUID of version 8 (made by a rule of one's own) from the hash of account and kind. */
function recurringId(account_id: string, kind: string): string {
  const hash = createHash("sha256").update(`recurring\n${account_id}\n${kind}`).digest();
  hash[6] = (hash[6]! & 0x0f) | 0x80;
  hash[8] = (hash[8]! & 0x3f) | 0x80;
  const hex = hash.toString("hex");
  return [
    hex.slice(0, 8),
    hex.slice(8, 12),
    hex.slice(12, 16),
    hex.slice(16, 20),
    hex.slice(20, 32),
  ].join("-");
}
