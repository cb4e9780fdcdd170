import type { Session } from "../../platform/db/database.ts";
import type { RecordKey } from "../../platform/db/rows.ts";

/** A payment detail that a quote pays, as a destination. */
type PayeeFacts = {
  payment_detail_id: string;
  /** The same for all payment details of one bank account. */
  payee: string;
  created_at: Date;
  /** Whether a payout of the account has reached this bank account before. */
  was_paid: boolean;
};

/** Destinations of a quote's offramps. */
export function listPayees(
  session: Session,
  account_id: string,
  quote_id: string,
  payment_detail_ids: readonly string[],
): Promise<PayeeFacts[]> {
  return session.query<PayeeFacts>(
    `with named as (
       select d.id, d.created_at, coalesce(d.payee_index, uuid_send(d.id)) as payee
       from payment_details d where d.account_id = $1 and d.id = any($3::uuid[]))
     select named.id as payment_detail_id, encode(named.payee, 'hex') as payee, named.created_at,
       exists (select from payment_details d
         join offramps o on o.account_id = d.account_id and o.payment_detail_id = d.id
         where d.account_id = $1 and coalesce(d.payee_index, uuid_send(d.id)) = named.payee
           and o.quote_id <> $2 and o.status = 'fiat_sent') as was_paid
     from named`,
    [account_id, quote_id, payment_detail_ids],
  );
}

/**
 * When the newest payee was created to whom a payout was added after coins had come, or, if `any`,
 * to whom one was added at all.
 */
export async function findNewestPayee(
  session: Session,
  { account_id, id: quote_id }: RecordKey,
  any: boolean,
): Promise<Date | null> {
  const [row] = await session.query<{ newest_at: Date | null }>(
    `select max(d.created_at) as newest_at from offramps o
     join payment_details d on d.account_id = o.account_id and d.id = o.payment_detail_id
     where o.account_id = $1 and o.quote_id = $2 and o.status <> 'failed'
       and ($3 or o.created_at >= (
         select min(mined_at) from deposits where account_id = $1 and quote_id = $2))`,
    [account_id, quote_id, any],
  );
  return row?.newest_at ?? null;
}
