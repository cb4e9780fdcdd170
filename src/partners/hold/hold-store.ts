import type { Session, Transaction } from "../../platform/db/database.ts";
import { newId } from "../../platform/ids.ts";
import type { Hold } from "../leaving.ts";
import type { Anchor } from "./restore-file.ts";

export type StoredHold = Hold & { file_count: bigint | null };

/** Those that are open, the one of a restore first. */
export function listOpenHolds(session: Session): Promise<StoredHold[]> {
  return session.query(
    `select kind, reason, held_at, file_count from payout_holds
     where released_at is null order by kind desc`,
  );
}

/** Whether this is a new hold: one of each kind can be open. */
export async function insertHold(
  session: Session,
  { kind, reason, file_count }: Omit<StoredHold, "held_at">,
  now: Date,
): Promise<boolean> {
  // An open hold learns how far the file counts: its release has to count past it.
  const [row] = await session.query<{ is_new: boolean }>(
    `insert into payout_holds (id, kind, reason, held_at, file_count) values ($1, $2, $3, $4, $5)
     on conflict (kind) where released_at is null
     do update set file_count = excluded.file_count
       where excluded.file_count > coalesce(payout_holds.file_count, -1)
     returning (xmax = 0) as is_new`,
    [newId(now), kind, reason, now, file_count],
  );
  return row?.is_new ?? false;
}

/** The hold after a restore. One that the backup had counts from now on: more may have left. */
export async function upsertRestoreHold(
  session: Session,
  { reason, file_count }: Pick<StoredHold, "reason" | "file_count">,
  now: Date,
): Promise<void> {
  await session.query(
    `insert into payout_holds (id, kind, reason, held_at, file_count)
     values ($1, 'restore', $2, $3, $4)
     on conflict (kind) where released_at is null
     do update set reason = excluded.reason, held_at = excluded.held_at,
       file_count = greatest(payout_holds.file_count, excluded.file_count)`,
    [newId(now), reason, now, file_count],
  );
}

export async function updateReleased(tx: Transaction, reason: string, now: Date): Promise<void> {
  await tx.query(
    `update payout_holds set released_at = $1, release_reason = $2 where released_at is null`,
    [now, reason],
  );
}

export async function findLeavingCount(session: Session): Promise<bigint> {
  const [row] = await session.query<{ count: bigint }>("select count from leaving_counts");
  return row!.count;
}

/** The count, locked until the transaction ends. */
export async function lockLeavingCount(tx: Transaction): Promise<bigint> {
  const [row] = await tx.query<{ count: bigint }>("select count from leaving_counts for update");
  return row!.count;
}

/** To at least this much; it never counts back. */
export async function updateLeavingCount(session: Session, count: bigint): Promise<void> {
  await session.query("update leaving_counts set count = greatest(count, $1)", [count]);
}

/** Whether this block is in its chain, with this hash. */
export async function existsBlock(session: Session, anchor: Anchor): Promise<boolean> {
  const { account_id, log, number, hash } = anchor;
  const rows = await session.query(
    `select from seal_blocks
     where account_id = $1 and log = $2 and number = $3 and hash = decode($4, 'hex')`,
    [account_id, log, number, hash],
  );
  return rows.length > 0;
}
