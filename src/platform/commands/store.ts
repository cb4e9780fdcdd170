import type { Session, Transaction } from "../db/database.ts";
import { accountsOf, setOf } from "../db/rows.ts";
import { setLocal } from "../db/set-local.ts";
import type { Command, Idempotency } from "./use-case.ts";

export type StoredAnswer = {
  account_id: string;
  id: string;
  request_hash: Buffer;
  subject_id: string | null;
  answer_bytes: number;
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
  const accounts = accountsOf(tx, keyed);
  const rows = await tx.query<StoredAnswer & { idempotency_index: Buffer }>(
    `select account_id, idempotency_index, id, request_hash, subject_id,
       octet_length(answer) as answer_bytes
     from commands where account_id ${accounts.equal} and idempotency_index = any($2::bytea[])`,
    [accounts.value, keyed.map((command) => command.idempotency!.index)],
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

/** The sealed answers of these commands, by their id; absent if one was deleted meanwhile. */
export async function listAnswers(
  tx: Session,
  found: readonly StoredAnswer[],
): Promise<Map<string, Buffer>> {
  if (found.length === 0) return new Map();
  const accounts = accountsOf(tx, found);
  const rows = await tx.query<{ id: string; answer: Buffer }>(
    `select id, answer from commands
     where account_id ${accounts.equal} and id = any($2::uuid[]) and answer is not null`,
    [accounts.value, found.map(({ id }) => id)],
  );
  return new Map(rows.map(({ id, answer }) => [id, answer]));
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
    .map(({ row: { command, subject_id, answer } }) => ({
      account_id: command.account_id,
      id: command.id,
      idempotency_index: command.idempotency?.index ?? null,
      request_hash: command.idempotency?.request_hash ?? null,
      subject_id,
      answer,
    }));
  const columns = `account_id uuid, id uuid, idempotency_index bytea, request_hash bytea,
    subject_id uuid, answer bytea`;
  const set = setOf(tx, "t", columns, sorted);
  tx.write(
    `insert into commands
       (account_id, id, idempotency_index, request_hash, subject_id, answer, created_at)
     select *, $7 from ${set.from}`,
    [...set.values, real_now],
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
  await setLocal(tx, { lock_timeout: `${wait_max_ms}ms` });
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
  const accounts = accountsOf(tx, commands);
  tx.write(`delete from commands where account_id ${accounts.equal} and id = any($2::uuid[])`, [
    accounts.value,
    commands.map((command) => command.command_id),
  ]);
}
