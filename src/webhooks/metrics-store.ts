import type { Session } from "../platform/db/database.ts";
import { COUNT_MAX } from "../platform/metrics/model.ts";

const ENDPOINTS_MAX = 1_000;

/** The number of deliveries that wait for an attempt; stops counting at COUNT_MAX. */
export async function findPendingDeliveryCount(session: Session): Promise<number> {
  const [row] = await session.query<{ deliveries: number }>(
    `select count(*)::integer as deliveries
     from (select 1 from webhook_queue limit ${COUNT_MAX}) as first`,
  );
  return row!.deliveries;
}

/** The due time of the most overdue delivery, among the first thousand endpoints. */
export async function findOldestDueDelivery(session: Session, now: Date): Promise<Date | null> {
  const first = "select account_id, app_id, due_at from webhook_queue w";
  const order = "order by account_id, app_id, due_at limit 1";
  const [row] = await session.query<{ due_at: Date | null }>(
    `with recursive endpoints as (
       (${first} ${order})
       union all
       select next.account_id, next.app_id, next.due_at from endpoints
       cross join lateral (
         ${first} where (w.account_id, w.app_id) > (endpoints.account_id, endpoints.app_id) ${order}
       ) as next
     )
     select min(due_at) as due_at
     from (select due_at from endpoints limit ${ENDPOINTS_MAX}) as first where due_at <= $1`,
    [now],
  );
  return row!.due_at;
}

/** The number of deliveries that ran out of attempts since then; stops counting at COUNT_MAX. */
export async function findFailedCount(session: Session, since: Date): Promise<number> {
  const [row] = await session.query<{ deliveries: number }>(
    `select count(*)::integer as deliveries from (
       select 1 from webhook_deliveries where failed_at >= $1 limit ${COUNT_MAX}
     ) as first`,
    [since],
  );
  return row!.deliveries;
}
