import type { Session } from "../../platform/db/database.ts";

/** What happened to a record, without its content. */
export type Change = { account_id: string; id: string; name: string; record_id: string };

/** The events of these accounts from this id on, the newest first. */
export function listChanges(
  session: Session,
  account_ids: readonly string[],
  from_id: string,
  limit: number,
): Promise<Change[]> {
  return session.query<Change>(
    `select account_id, events.id, name, record_id
     from unnest($1::uuid[]) as watched (account_id)
     cross join lateral (select id, name, record_id from events
       where events.account_id = watched.account_id and id >= $2
       order by id desc limit $3) as events`,
    [account_ids, from_id, limit],
  );
}
