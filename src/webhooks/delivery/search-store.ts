import type { Session } from "../../platform/db/database.ts";
import { type DueQuery, type QueuePlace, startsOf } from "./store.ts";

/** How many entries of a long queue are looked at for one page. */
export const LOOKED_AT_MAX = 2_000;

export type SearchEnd = QueuePlace & { looked_at: number };

/**
 * Where the search for a page ends in a long queue, by application; absent if nothing is due. It is
 * asked for before the page: an entry that is added meanwhile is then in this page or after it.
 */
export async function listSearchEnds(
  session: Session,
  queries: readonly DueQuery[],
  now: Date,
): Promise<Map<string, SearchEnd>> {
  const set = startsOf(session, queries);
  const rows = await session.query<SearchEnd & { app_id: string }>(
    `select q.app_id, last.due_at::text as due_at, last.id, last.looked_at
     from ${set.from}
     cross join lateral (
       select due_at, delivery_id as id, count(*) over ()::integer as looked_at
       from (
         select w.due_at, w.delivery_id from webhook_queue w
         where w.account_id = q.account_id and w.app_id = q.app_id and w.due_at <= $5
           and (w.due_at, w.delivery_id) > (q.after_at, q.after_id)
         order by w.due_at, w.delivery_id limit ${LOOKED_AT_MAX}
       ) as looked
       order by due_at desc, delivery_id desc limit 1
     ) as last`,
    [...set.values, now],
  );
  return new Map(rows.map((row) => [row.app_id, row]));
}
