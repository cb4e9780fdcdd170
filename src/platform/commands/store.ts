import type { Session, Transaction } from "../db/database.ts";
import { columnsOf } from "../db/rows.ts";
import type { Command, Idempotency } from "./use-case.ts";

export type StoredAnswer = {
  account_id: string;
  id: string;
  request_hash: Buffer;
  subject_id: string | null;
  answer: Buffer;
};

type CommandRow = {
  command: Command<unknown>;
  subject_id: string | null;
  answer: Buffer | null;
};

/** Stored answers to the same idempotency keys, by the id of the current command. */
export async function findStoredAnswers(
  tx: Session,
  commands: readonly Command<unknown>[],
): Promise<Map<string, StoredAnswer>> {
  const keyed = commands.filter((command) => command.idempotency !== null);
  if (keyed.length === 0) return new Map();
  const rows = await tx.query<StoredAnswer & { idempotency_index: Buffer }>(
    `select account_id, idempotency_index, id, request_hash, subject_id, answer from commands
     where account_id = any($1::uuid[]) and idempotency_index = any($2::bytea[])`,
    [
      [...new Set(keyed.map((command) => command.account_id))],
      keyed.map((command) => command.idempotency!.index),
    ],
  );
  const by_key = new Map(
    rows.map((row) => [`${row.account_id} ${row.idempotency_index.toString("hex")}`, row]),
  );
  const stored = new Map<string, StoredAnswer>();
  for (const { id, account_id, idempotency } of keyed) {
    const row = by_key.get(`${account_id} ${idempotency!.index.toString("hex")}`);
    if (row) stored.set(id, row);
  }
  return stored;
}

/** Locks this key; waits for another request that has locked it, in any process. */
export async function lockKey(
  tx: Transaction,
  account_id: string,
  { index }: Idempotency,
): Promise<void> {
  await tx.query("select pg_advisory_xact_lock(hashtextextended($1, 0))", [
    `${account_id} ${index.toString("hex")}`,
  ]);
}

/**
 * Without `on conflict`: if another process inserted the key meanwhile, the transaction fails, is
 * run again and finds the answer. In key order, so that two processes never deadlock. Dated in real
 * time: how long a row is kept does not depend on the sandbox's clock.
 */
export function insertCommands(tx: Transaction, rows: readonly CommandRow[], real_now: Date): void {
  const order = (row: CommandRow) => row.command.idempotency?.index.toString("hex") ?? "";
  const sorted = rows
    .map((row) => ({ row, key: `${row.command.account_id} ${order(row)}` }))
    .sort((a, b) => (a.key < b.key ? -1 : 1))
    .map(({ row }) => row);
  tx.write(
    `insert into commands
       (account_id, id, idempotency_index, request_hash, subject_id, answer, created_at)
     select *, $7 from unnest
       ($1::uuid[], $2::uuid[], $3::bytea[], $4::bytea[], $5::uuid[], $6::bytea[])`,
    [
      sorted.map((row) => row.command.account_id),
      sorted.map((row) => row.command.id),
      sorted.map((row) => row.command.idempotency?.index ?? null),
      sorted.map((row) => row.command.idempotency?.request_hash ?? null),
      ...columnsOf(sorted, "subject_id", "answer"),
      real_now,
    ],
  );
}

/** Stored instead of a request's hash: the row of a command that can never be committed. */
const FENCE = Buffer.alloc(0);

/**
 * Determines whether a command was committed: either its row exists, or after this commit it can
 * never be inserted. Waits for a transaction that is inserting it; repeated calls give the same
 * answer.
 */
export async function insertFence(
  tx: Transaction,
  { account_id, id }: Command<unknown>,
  wait_max_ms: number,
  real_now: Date,
): Promise<"committed" | "undone"> {
  await tx.query("select set_config('lock_timeout', $1, true)", [`${wait_max_ms}ms`]);
  const [row] = await tx.query<{ request_hash: Buffer | null }>(
    `insert into commands (account_id, id, request_hash, created_at) values ($1, $2, $3, $4)
     on conflict (account_id, id) do update set created_at = commands.created_at
     returning request_hash`,
    [account_id, id, FENCE, real_now],
  );
  return row?.request_hash?.equals(FENCE) ? "undone" : "committed";
}

/** Deletes at most `limit` rows that are not needed any more; returns how many. */
export async function deleteUnkeyedCommands(
  session: Session,
  account_id: string,
  created_before: Date,
  limit: number,
): Promise<number> {
  const rows = await session.query(
    `delete from commands where account_id = $1 and id in (
       select id from commands where account_id = $1 and idempotency_index is null
         and created_at < $2
       order by created_at limit $3)
     returning id`,
    [account_id, created_before, limit],
  );
  return rows.length;
}

/** Deletes the stored answers of these commands, because the data in them was erased. */
export function deleteCommands(
  tx: Transaction,
  commands: readonly { account_id: string; command_id: string }[],
): void {
  if (commands.length === 0) return;
  tx.write("delete from commands where account_id = any($1::uuid[]) and id = any($2::uuid[])", [
    [...new Set(commands.map((command) => command.account_id))],
    commands.map((command) => command.command_id),
  ]);
}
