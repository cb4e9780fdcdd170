import type { Session } from "../db/database.ts";

export type AttemptKey = { window_ends_at: Date; caller_hash: Buffer };
type AttemptCounts = { failed: number; under_way: number };

/** Counts one more failure, up to the limit; undefined if the limit was already reached. */
export async function upsertFailure(
  session: Session,
  { window_ends_at, caller_hash }: AttemptKey,
  limit: number,
): Promise<AttemptCounts | undefined> {
  const [row] = await session.query<AttemptCounts>(
    `insert into attempts as a (window_ends_at, caller_hash, failed, under_way)
     values ($1, $2, 1, 0)
     on conflict (window_ends_at, caller_hash) do update set failed = a.failed + 1
     where a.failed < $3
     returning failed, under_way`,
    [window_ends_at, caller_hash, limit],
  );
  return row;
}

/**
 * Starts one more attempt unless it and those in progress could exceed the limit by all failing;
 * undefined if they could.
 */
export async function upsertBegun(
  session: Session,
  { window_ends_at, caller_hash }: AttemptKey,
  limit: number,
): Promise<AttemptCounts | undefined> {
  const [row] = await session.query<AttemptCounts>(
    `insert into attempts as a (window_ends_at, caller_hash, failed, under_way)
     values ($1, $2, 0, 1)
     on conflict (window_ends_at, caller_hash) do update set under_way = a.under_way + 1
     where a.failed + a.under_way < $3
     returning failed, under_way`,
    [window_ends_at, caller_hash, limit],
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
     where window_ends_at = $1 and caller_hash = $2`,
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
