import type { Check } from "./checks.ts";

/** A delivery is in the queue, at its due time, if and only if it is pending. */
export const verifyDeliveries: Check = async (session, account_id) => {
  const [row] = await session.query<{ id: string; status: string | null }>(
    `select coalesce(d.id, w.delivery_id) as id, d.status
     from (select * from webhook_deliveries where account_id = $1) d
     full join (select * from webhook_queue where account_id = $1) w
       on w.delivery_id = d.id
     where case when d.status = 'pending'
       then (w.app_id, w.due_at) is distinct from (d.app_id, d.next_attempt_at)
       else w.delivery_id is not null end
     order by 1 limit 1`,
    [account_id],
  );
  if (!row) return null;
  const fault =
    row.status === "pending"
      ? "it is pending, but not in the queue at its due time"
      : `it is ${row.status ?? "missing"}, but in the queue`;
  return `webhook delivery ${row.id} of account ${account_id}: ${fault}`;
};
