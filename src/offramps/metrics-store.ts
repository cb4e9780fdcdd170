import type { Session } from "../platform/db/database.ts";
import { COUNT_MAX } from "../platform/metrics/model.ts";

export type OpenRecords = { status: string; records: number; oldest_at: Date | null };

// Spelled exactly as in the partial indexes; otherwise the planner does not use them.
const OPEN_PAYOUTS = "status in ('recorded', 'submitting', 'sent')";
const OPEN_OFFRAMPS = "status in ('pending_internal_assessment', 'ongoing_checks', 'sending_fiat')";

/** Unfinished payout attempts, by state. */
export function listOpenPayouts(session: Session): Promise<OpenRecords[]> {
  return session.query<OpenRecords>(openRecords("payouts", OPEN_PAYOUTS), [
    ["recorded", "submitting", "sent"],
  ]);
}

/** Executed and unfinished offramps, by state. */
export function listOpenOfframps(session: Session): Promise<OpenRecords[]> {
  return session.query<OpenRecords>(openRecords("offramps", OPEN_OFFRAMPS), [
    ["pending_internal_assessment", "ongoing_checks", "sending_fiat"],
  ]);
}

/** Messages of a kind that could not be applied yet, counted up to COUNT_MAX, and since when. */
export async function findKept(
  session: Session,
  kind: string,
): Promise<{ messages: number; oldest_at: Date | null }> {
  const [row] = await session.query<{ messages: number; oldest_at: Date | null }>(
    `select count(*)::integer as messages, min(first.kept_at) as oldest_at from (
       select kept_at from kept_messages where kind = $1
       order by kept_at limit ${COUNT_MAX}) as first`,
    [kind],
  );
  return row!;
}

function openRecords(table: string, is_open: string): string {
  return `select state.status, open.records, open.oldest_at
    from unnest($1::text[]) as state (status)
    cross join lateral (
      select count(*)::integer as records, min(first.created_at) as oldest_at from (
        select r.created_at from ${table} r
        where r.status = state.status and r.${is_open}
        order by r.created_at limit ${COUNT_MAX}
      ) as first
    ) as open`;
}
