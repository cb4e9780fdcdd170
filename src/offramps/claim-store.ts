import type { Session } from "../platform/db/database.ts";
import type { RecordKey } from "../platform/db/rows.ts";
import { SET_BYTES_MAX } from "../platform/tasks/split-by-bytes.ts";
import { BEFORE_PAYOUT } from "./model.ts";
import type { OfframpLinks, OfframpRow } from "./store.ts";

/** Locks the next offramps of a quote that were not instructed yet. */
export function claimBeforePayout(
  tx: Session,
  quote: RecordKey,
  limit: number,
): Promise<OfframpRow[]> {
  const condition = "o.account_id = $1 and o.quote_id = $2 and o.status = any($3::text[])";
  return tx.query<OfframpRow>(claim(condition), [
    quote.account_id,
    quote.id,
    BEFORE_PAYOUT,
    limit,
    SET_BYTES_MAX,
  ]);
}

/**
 * Locks the first offramps that meet the condition: at most `$4`, and only as many as the details
 * of up to `$5` bytes. The condition is checked again once they are locked.
 */
const claim = (condition: string) =>
  `select locked.* from (${next(condition)}) as next
   cross join lateral (
     select o.* from offramps o where o.id = next.id and ${condition} for no key update
   ) as locked`;

/**
 * Their ids, in order. Found and locked one after the other (`lateral`): of a quote that was just
 * filled there are no statistics, and a join was seen to compare every offramp with every other.
 */
const next = (condition: string) =>
  `select id from (
     select id, sum(octet_length(o.details)) over (order by id) as bytes,
       row_number() over (order by id) as number
     from offramps o where ${condition} order by id limit $4
   ) as first where bytes <= $5 or number = 1 order by id`;

/** An offramp that has changed so often is not told any more what its quote still waits for. */
export const TOLD_MAX = 20;

/**
 * Locks the next offramps of a quote that are not funded yet; with a message, only those that do
 * not show it already, and are still told.
 */
export function claimUnfunded(
  tx: Session,
  quote: RecordKey,
  status_message: string | null,
  limit: number,
): Promise<OfframpRow[]> {
  return tx.query<OfframpRow>(claim(UNFUNDED), [
    ...[quote.account_id, quote.id, status_message],
    ...[limit, SET_BYTES_MAX],
  ]);
}

const UNFUNDED = `o.account_id = $1 and o.quote_id = $2 and o.funded_at is null
  and o.status <> 'failed' and ($3::text is null or o.status_message is distinct from $3
    and (o.status <> 'ongoing_checks' or o.sequence < ${TOLD_MAX}))`;

/**
 * The same without a lock: what has to be locked before them is not locked yet. `offset 0` keeps
 * the planner from making a join of it, which the lock does above.
 */
export function listUnfunded(
  session: Session,
  { account_id, id }: RecordKey,
  limit: number,
): Promise<OfframpLinks[]> {
  return session.query<OfframpLinks>(
    `select o.account_id, o.id, o.user_id, o.quote_id, o.payment_detail_id,
       octet_length(o.details) as bytes
     from (${next(UNFUNDED)}) as next
     cross join lateral (
       select o.* from offramps o where o.account_id = $1 and o.id = next.id offset 0
     ) as o order by o.id`,
    [account_id, id, null, limit, SET_BYTES_MAX],
  );
}
