import { createHash } from "node:crypto";
import type { Session, Transaction } from "../db/database.ts";
import { type RecordKey, setOf } from "../db/rows.ts";
import { newId } from "../ids.ts";
import { LOSSES_MAX } from "./backoff.ts";

/** Work for later: the record, the kind of work, and when. The record contains everything else. */
export type Task = {
  account_id: string;
  id: string;
  kind: string;
  record_id: string;
  due_at: Date;
  created_at: Date;
  /** How often in a row its handler has failed. */
  attempts: number;
};

/** A task per record, in the caller's transaction: they exist if and only if it commits. */
export function enqueueTasks(
  tx: Transaction,
  kind: string,
  records: readonly RecordKey[],
  now: Date,
  due_at = now,
): void {
  const timed = records.map(({ account_id, id }) => ({ account_id, id, due_at }));
  enqueueTasksAt(tx, kind, timed, now);
}

/** The same, each due at its own time. */
export function enqueueTasksAt(
  tx: Transaction,
  kind: string,
  records: readonly (RecordKey & { due_at: Date })[],
  now: Date,
): void {
  if (records.length === 0) return;
  const rows = records.map(({ account_id, id, due_at }) => {
    return { account_id, record_id: id, id: newId(now), due_at };
  });
  const columns = "account_id uuid, record_id uuid, id uuid, due_at timestamptz";
  const set = setOf(tx, "t", columns, rows);
  tx.write(
    `insert into tasks (account_id, id, kind, record_id, due_at, created_at)
     select t.account_id, t.id, $5, t.record_id, t.due_at, $6 from ${set.from}`,
    [...set.values, kind, now],
  );
}

/**
 * Creates the account's single task of a recurring kind, unless it exists. The handler moves that
 * row with `repeat`, so it is never deleted; two processes that start at once derive the same id.
 * Recurring work has no record, so `record_id` is the account, by which `advanceClock` recognizes
 * such tasks.
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

// A task that may be what ends its process keeps its delay: whoever can wake it could otherwise end
// the process as often.
const MAY_BE_EARLIER = `tasks.losses <= ${LOSSES_MAX}`;

/**
 * For work of which a record has at most one task at a time: makes it due now. The row stays locked
 * until the caller's commit, so its handler, which locks it before it ends, sees what the caller
 * writes; call this before you write rows that the handler locks.
 */
export function wakeTasks(
  tx: Transaction,
  kind: string,
  records: readonly RecordKey[],
  now: Date,
): void {
  if (records.length === 0) return;
  const set = wakenSet(tx, kind, records);
  tx.write(
    `insert into tasks (account_id, id, kind, record_id, due_at, created_at)
     select t.account_id, t.task_id, $4, t.id, $5, $5 from ${set.from}
     on conflict (account_id, id)
     do update set due_at = excluded.due_at, created_at = excluded.created_at
     where tasks.due_at > excluded.due_at and ${MAY_BE_EARLIER}`,
    [...set.values, kind, now],
  );
}

/**
 * For work of which a record has one task: it keeps its due time if it exists. In either case its
 * row is locked until the caller's commit, as by `wakeTasks`, from now on.
 */
export async function ensureTasks(
  tx: Session,
  kind: string,
  records: readonly RecordKey[],
  now: Date,
): Promise<void> {
  const set = wakenSet(tx, kind, records);
  await tx.query(
    `insert into tasks (account_id, id, kind, record_id, due_at, created_at)
     select t.account_id, t.task_id, $4, t.id, $5, $5 from ${set.from}
     on conflict (account_id, id) do update set due_at = tasks.due_at`,
    [...set.values, kind, now],
  );
}

/** In a fixed order, so that two calls never deadlock. */
function wakenSet(session: Session, kind: string, records: readonly RecordKey[]) {
  const sorted = records
    .map((record) => ({ ...record, task_id: wakenId(kind, record) }))
    .sort((a, b) => (`${a.account_id}${a.task_id}` < `${b.account_id}${b.task_id}` ? -1 : 1));
  return setOf(session, "t", "account_id uuid, task_id uuid, id uuid", sorted);
}

/** Makes the waiting tasks of these records due now. */
export function updateTasksDue(
  tx: Transaction,
  { account_id, kinds }: { account_id: string; kinds: readonly string[] },
  record_ids: readonly string[],
  now: Date,
): void {
  tx.write(
    `update tasks set due_at = $4 where account_id = $1 and kind = any($2::text[])
       and due_at > $4 and record_id = any($3::uuid[]) and ${MAY_BE_EARLIER}`,
    [account_id, kinds, record_ids, now],
  );
}

/** Locks the tasks that `wakeTasks` would make due, if they exist. */
export async function lockWakened(
  tx: Session,
  kind: string,
  records: readonly RecordKey[],
): Promise<void> {
  const tasks = records.map((one) => ({ account_id: one.account_id, id: wakenId(kind, one) }));
  const key = setOf(tx, "key", "account_id uuid, id uuid", tasks);
  await tx.query(
    `select t.id from ${key.from}
     join tasks t on t.account_id = key.account_id and t.id = key.id
     order by t.account_id, t.id for update of t`,
    key.values,
  );
}

/** The id of the one task of this kind that a record has. */
export function wakenId(kind: string, { account_id, id }: RecordKey): string {
  return derivedId(`waken\n${account_id}\n${kind}\n${id}`);
}

function recurringId(account_id: string, kind: string): string {
  return derivedId(`recurring\n${account_id}\n${kind}`);
}

/** A UUID version 8 (custom) from a hash of the text. */
function derivedId(text: string): string {
  const hash = createHash("sha256").update(text).digest();
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
