import type { Session } from "../../platform/db/database.ts";

/** Endpoints may have any number of them, and others wait for the tasks of their senders. */
export const SKIPPED_AT_ONCE = 500;

/**
 * Skips the first pending deliveries of an endpoint that receives nothing more, with the reason.
 * Returns their number: at the limit there may be more.
 */
export async function updatePendingSkipped(
  tx: Session,
  app: { account_id: string; id: string },
  reason: string,
  now: Date,
): Promise<number> {
  const [row] = await tx.query<{ count: number }>(
    `with first as materialized (
       select due_at, delivery_id from webhook_queue where account_id = $1 and app_id = $2
       order by due_at, delivery_id limit ${SKIPPED_AT_ONCE}
     ), last as materialized (
       select * from first order by due_at desc, delivery_id desc limit 1
     ), waiting as (
       delete from webhook_queue where account_id = $1 and app_id = $2
         and (due_at, delivery_id) <= ((select due_at from last), (select delivery_id from last))
       returning delivery_id
     ), skipped as (
       update webhook_deliveries set status = 'skipped', reason = $3, next_attempt_at = null,
         updated_at = $4
       where account_id = $1 and id = any (array(select delivery_id from waiting))
     )
     select count(*)::int as count from waiting`,
    [app.account_id, app.id, reason, now],
  );
  return row!.count;
}
