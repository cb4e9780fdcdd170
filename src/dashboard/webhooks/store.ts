import type { Session } from "../../platform/db/database.ts";
import { DELIVERY_COLUMNS, type Delivery } from "../../webhooks/delivery/store.ts";

/** How many deliveries of the account one page looks at: those of other applications too. */
const READ_MAX = 10_000;

type DeliveryPage = {
  app_id: string;
  below_id: string;
  status: string | null;
  limit: number;
};

/**
 * Deliveries to an application, newest first, and where the next page begins. There is no index by
 * application: one would cost every delivery, and the log is read by people, page by page.
 */
export async function listDeliveries(
  session: Session,
  account_id: string,
  { app_id, below_id, status, limit }: DeliveryPage,
): Promise<{ deliveries: Delivery[]; next: string | null }> {
  const rows = await session.query<Delivery & { read: number; last_id: string }>(
    `with page as materialized (
       select * from webhook_deliveries where account_id = $1 and id < $3
       order by id desc limit $6
     )
     select ${DELIVERY_COLUMNS}, seen.read, seen.last_id
     from (select count(*)::integer as read, (select id from page order by id limit 1) as last_id
       from page) as seen
     left join lateral (
       select * from page where app_id = $2 and ($4::text is null or status = $4)
       order by id desc limit $5
     ) as d on true
     order by d.id desc`,
    [account_id, app_id, below_id, status, limit, READ_MAX],
  );
  const deliveries = rows.filter(({ id }) => id !== null);
  const { read = 0, last_id = null } = rows[0] ?? {};
  if (deliveries.length === limit) return { deliveries, next: deliveries.at(-1)!.id };
  return { deliveries, next: read === READ_MAX ? last_id : null };
}

/** The sealed body of a sample; null for the deliveries of events. */
export async function findDelivery(
  session: Session,
  key: { account_id: string; app_id: string; id: string },
): Promise<(Delivery & { sample: Buffer | null }) | undefined> {
  const [row] = await session.query<Delivery & { sample: Buffer | null }>(
    `select ${DELIVERY_COLUMNS}, d.body as sample from webhook_deliveries d
     where d.account_id = $1 and d.id = $2 and d.app_id = $3`,
    [key.account_id, key.id, key.app_id],
  );
  return row;
}
