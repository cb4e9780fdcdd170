import type { Session } from "../db/database.ts";

export type AttemptKey = { window_ends_at: Date; caller_hash: Buffer };
type AttemptCounts = { failed: number; under_way: number };

/**
 * Whoever makes up attempts from many networks would keep connections busy with waiting for the
 * disk. If PostgreSQL itself crashes, the counts of its last second may be lost, which gives a
 * caller some attempts more; they are no part of what Sliproad has confirmed.
 */
const UNFLUSHED = "(select set_config('synchronous_commit', 'off', true)) as unflushed";

/** Counts one more failure, up to the limit; undefined if the limit was already reached. */
export function upsertFailure(session: Session, key: AttemptKey, limit: number) {
  return upsertCounts(session, key, { failed: 1, under_way: 0 }, "a.failed", limit);
}

/**
 * Starts one more attempt unless it and those in progress could exceed the limit by all failing;
 * undefined if they could.
 */
export function upsertBegun(session: Session, key: AttemptKey, limit: number) {
  return upsertCounts(session, key, { failed: 0, under_way: 1 }, "a.failed + a.under_way", limit);
}

/** Adds to the counts where what counts is below the limit. */
async function upsertCounts(
  session: Session,
  { window_ends_at, caller_hash }: AttemptKey,
  { failed, under_way }: AttemptCounts,
  counted: string,
  limit: number,
): Promise<AttemptCounts | undefined> {
  const row_values = "$1::timestamptz, $2::bytea, $3::int, $4::int";
  // Citus loses the parameters of ON CONFLICT where the row comes from a SELECT.
  const source = session.by_account
    ? `values (${row_values})`
    : `select ${row_values} from ${UNFLUSHED}`;
  const [row] = await session.query<AttemptCounts>(
    `insert into attempts as a (window_ends_at, caller_hash, failed, under_way)
     ${source}
     on conflict (window_ends_at, caller_hash)
     do update set failed = a.failed + $3, under_way = a.under_way + $4 where ${counted} < $5
     returning failed, under_way`,
    [window_ends_at, caller_hash, failed, under_way, limit],
  );
  return row;
}

export async function updateEnded(
  session: Session,
  { window_ends_at, caller_hash }: AttemptKey,
  has_failed: boolean,
): Promise<void> {
  await session.query(
    `update attempts set failed = failed + $3, under_way = greatest(0, under_way - 1)
     from ${UNFLUSHED} where window_ends_at = $1 and caller_hash = $2`,
    [window_ends_at, caller_hash, has_failed ? 1 : 0],
  );
}

export async function findAttempts(
  session: Session,
  { window_ends_at, caller_hash }: AttemptKey,
): Promise<AttemptCounts | undefined> {
  const [row] = await session.query<AttemptCounts>(
    `select failed, under_way from attempts where window_ends_at = $1 and caller_hash = $2`,
    [window_ends_at, caller_hash],
  );
  return row;
}

/** Deletes some counts whose window is over; returns how many. */
export async function deleteAttempts(
  session: Session,
  before: Date,
  rows_max: number,
): Promise<number> {
  const rows = await session.query(
    `delete from attempts where ctid = any (array(
       select ctid from attempts where window_ends_at < $1
       order by window_ends_at limit $2
       for update skip locked
     )) returning 1`,
    [before, rows_max],
  );
  return rows.length;
}
