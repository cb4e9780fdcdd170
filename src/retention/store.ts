import type { Session, Transaction } from "../platform/db/database.ts";
import { firstIdAt } from "../platform/ids.ts";
import type { UserKey } from "../users/store.ts";

/** When money of this user last moved, in or out; null if it never did. */
export async function findLastPayment(session: Session, key: UserKey): Promise<Date | null> {
  const [row] = await session.query<{ last_at: Date | null }>(
    `select greatest(
       (select max(created_at) from deposits where account_id = $1 and user_id = $2),
       (select max(greatest(o.funded_at, p.updated_at)) from offramps o
          left join payouts p on p.account_id = o.account_id and p.offramp_id = o.id
        where o.user_id = $2 and o.account_id = $1 and o.funded_at is not null),
       (select max(updated_at) from refunds where account_id = $1 and user_id = $2),
       (select max(updated_at) from onramps
        where user_id = $2 and account_id = $1 and paid_at is not null)) as last_at`,
    [key.account_id, key.user_id],
  );
  return row?.last_at ?? null;
}

/** The tables of the records whose events show a user's data; those of the user have their id. */
export const EVENTED_TABLES = [
  "offramps",
  "removed_offramps",
  "payment_details",
  "onramps",
] as const;

/** The next records of a user in one of these tables, in the order of their ids. */
export async function listRecordIds(
  session: Session,
  table: (typeof EVENTED_TABLES)[number],
  { account_id, user_id }: UserKey,
  after_id: string,
  limit: number,
): Promise<string[]> {
  const rows = await session.query<{ id: string }>(
    `select id from ${table} where account_id = $1 and user_id = $2 and id > $3
     order by id limit $4`,
    [account_id, user_id, after_id, limit],
  );
  return rows.map(({ id }) => id);
}

/** The references of these payouts cannot be searched for any more. */
export function updateReferencesErased(
  tx: Transaction,
  account_id: string,
  ids: readonly string[],
): void {
  tx.write(
    `update offramps set reference_index = null
     where account_id = $1 and id = any ($2::uuid[]) and reference_index is not null`,
    [account_id, ids],
  );
}

/**
 * Users after this one, in the order of their ids, with identity documents that were decided on by
 * then. Left out are those who surely paid or received since: by the time in the records' ids.
 */
export async function listUsersWithOldDocuments(
  session: Session,
  account_id: string,
  decided_by: Date,
  after_id: string,
  limit: number,
): Promise<string[]> {
  const rows = await session.query<{ user_id: string }>(
    `select distinct a.user_id from kyc_applications a
     where a.account_id = $1 and a.decided_at <= $2 and a.deleted_at is null and a.user_id > $3
       and not exists (select from deposits d where d.account_id = a.account_id
         and d.user_id = a.user_id and d.id >= $4)
       and not exists (select from onramps o where o.account_id = a.account_id
         and o.user_id = a.user_id and o.id >= $4 and o.paid_at is not null)
     order by a.user_id limit $5`,
    [account_id, decided_by, after_id, firstIdAt(decided_by), limit],
  );
  return rows.map((row) => row.user_id);
}
