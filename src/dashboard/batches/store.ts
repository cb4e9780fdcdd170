import type { Session, Transaction } from "../../platform/db/database.ts";
import {
  columnsOf,
  deleteRow,
  findRow,
  insertRow,
  lockRows,
  type RecordKey,
  updateRow,
} from "../../platform/db/rows.ts";
import { sealedJson, sealedText } from "../../platform/encryption/sealed-column.ts";
import type { Page } from "../../platform/http/list.ts";
import type { Batch, BatchContent } from "./model.ts";

export type BatchRecord = Omit<Batch, "content"> & {
  title: Buffer;
  content: Buffer;
  row_count: number;
};

/** A batch in a list: without its rows. */
export type BatchSummary = Omit<BatchRecord, "content">;

const TABLE = "payout_batches";
const TITLE = sealedText(TABLE, "title");
const CONTENT = sealedJson<BatchContent>(TABLE, "content");

export function findBatch(session: Session, key: RecordKey): Promise<BatchRecord | undefined> {
  return findRow(session, TABLE, { account_id: key.account_id, id: key.id });
}

export function lockBatches(tx: Session, keys: readonly RecordKey[]): Promise<BatchRecord[]> {
  return lockRows(tx, TABLE, keys);
}

/**
 * Locks the files of these batches. For whoever begins to create payouts: of two at once, the
 * second sees that the first has begun.
 */
export async function lockFiles(tx: Session, keys: readonly RecordKey[]): Promise<void> {
  await tx.query(
    `select pg_advisory_xact_lock(hashtextextended('payout file ' || file, 0)) from (
       select distinct account_id || encode(file_index, 'hex') as file
       from payout_batches join unnest($1::uuid[], $2::uuid[]) as wanted (account_id, id)
         using (account_id, id)
       order by 1) as files`,
    columnsOf(keys, "account_id", "id"),
  );
}

/** Batches of these batches' files whose payouts were created, or some of them. */
export function listStarted(
  session: Session,
  keys: readonly RecordKey[],
): Promise<Pick<Batch, "account_id" | "id" | "file_index">[]> {
  return session.query(
    `select distinct s.account_id, s.id, s.file_index
     from unnest($1::uuid[], $2::uuid[]) as wanted (account_id, id)
     join payout_batches b using (account_id, id)
     join payout_batches s on s.account_id = b.account_id and s.file_index = b.file_index
     where s.status <> 'draft'`,
    columnsOf(keys, "account_id", "id"),
  );
}

export function listBatches(
  session: Session,
  account_id: string,
  { below_id, from_id, limit }: Page,
): Promise<BatchSummary[]> {
  return session.query<BatchSummary>(
    `select account_id, id, user_id, status, deposit_token, deposit_token_chain, title, row_count,
       file_index, quote_id, attempt, version, created_by, created_at, updated_at, expires_at
     from payout_batches where account_id = $1 and id < $2 and id >= $3
     order by id desc limit $4`,
    [account_id, below_id, from_id, limit + 1],
  );
}

/** Another batch of the same file whose payouts were created, or some of them. */
export async function findSameFile(
  session: Session,
  { account_id, id, file_index }: Pick<Batch, "account_id" | "id" | "file_index">,
): Promise<{ id: string; created_at: Date } | undefined> {
  const [row] = await session.query<{ id: string; created_at: Date }>(
    `select id, created_at from payout_batches
     where account_id = $1 and file_index = $2 and id <> $3 and status <> 'draft'
     order by id desc limit 1`,
    [account_id, file_index, id],
  );
  return row;
}

export async function countByStatus(
  session: Session,
  account_id: string,
  quote_id: string,
): Promise<Record<string, number>> {
  const rows = await session.query<{ status: string; count: number }>(
    `select status, count(*)::int as count from offramps
     where account_id = $1 and quote_id = $2 group by status`,
    [account_id, quote_id],
  );
  return Object.fromEntries(rows.map(({ status, count }) => [status, count]));
}

/** The newest bank accounts of a user with each of these numbers, by their blind index. */
export function listPayeeIds(
  session: Session,
  { account_id, user_id }: { account_id: string; user_id: string },
  payee_indexes: readonly Buffer[],
  per_number_max: number,
): Promise<{ id: string; payee_index: Buffer }[]> {
  return session.query(
    `select id, payee_index from (
       select id, payee_index,
         row_number() over (partition by payee_index order by id desc) as place
       from payment_details
       where account_id = $1 and user_id = $2
         and coalesce(payee_index, uuid_send(id)) = any($3::bytea[])
     ) as registered
     where place <= $4 order by id desc`,
    [account_id, user_id, payee_indexes, per_number_max],
  );
}

/** Payouts to these bank accounts that were or can still be paid, without the batch's own. */
export function listPastPayoutIds(
  session: Session,
  batch: Pick<Batch, "account_id" | "quote_id">,
  { detail_ids, amounts, from_id, now }: PastFilter,
  rows_max: number,
): Promise<RecordKey[]> {
  return session.query<RecordKey>(
    `select o.account_id, o.id from offramps o
     join quotes q on q.account_id = o.account_id and q.id = o.quote_id
     where o.account_id = $1 and o.payment_detail_id = any($2::uuid[])
       and o.destination_amount = any($3::bigint[]) and o.id >= $4 and o.status <> 'failed'
       and o.quote_id is distinct from $5
       and (q.executed_at is not null or (q.closed_at is null and q.expires_at > $6))
     order by o.id desc limit $7`,
    [batch.account_id, detail_ids, amounts, from_id, batch.quote_id, now, rows_max],
  );
}

type PastFilter = {
  detail_ids: readonly string[];
  amounts: readonly string[];
  from_id: string;
  now: Date;
};

export function insertBatch(tx: Transaction, batch: Batch, key: Buffer): void {
  insertRow(tx, TABLE, sealed(batch, key));
}

export function updateBatch(tx: Transaction, batch: Batch, key: Buffer): void {
  const { account_id, id, ...changes } = sealed(batch, key);
  updateRow(tx, TABLE, { account_id, id }, changes);
}

export function deleteBatch(tx: Transaction, { account_id, id }: RecordKey): void {
  deleteRow(tx, TABLE, { account_id, id });
}

export async function deleteExpiredBatches(
  session: Session,
  account_id: string,
  now: Date,
): Promise<void> {
  await session.query("delete from payout_batches where account_id = $1 and expires_at <= $2", [
    account_id,
    now,
  ]);
}

function sealed(batch: Batch, key: Buffer) {
  return {
    ...batch,
    title: TITLE.seal(key, batch, batch.content.file_name),
    content: CONTENT.seal(key, batch, batch.content),
    row_count: batch.content.rows.length,
  };
}

export function openTitle(summary: Pick<BatchSummary, "account_id" | "id" | "title">, key: Buffer) {
  return TITLE.open(key, summary, summary.title);
}

export function toBatch({ title: _, row_count: __, ...record }: BatchRecord, key: Buffer): Batch {
  return { ...record, content: CONTENT.open(key, record, record.content) };
}
