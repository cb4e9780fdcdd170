import type { Rail } from "../../catalogue/rails.ts";
import type { Session } from "../../platform/db/database.ts";
import type { RecordKey } from "../../platform/db/rows.ts";

/** A payment detail that a quote pays, as a destination. */
type PayeeFacts = {
  payment_detail_id: string;
  /** The same for all payment details of one bank account. */
  payee: string;
  created_at: Date;
};

/** How many payouts of a currency there are, and their sum. */
export type CurrencySum = { currency: string; count: number; amount: bigint };

/** A payment detail that a payout has reached by this rail. */
type PaidDetail = { id: string; rails: Rail };

/** Payment details with one number, and their payouts, that are read for what was paid before. */
const PAID_DETAILS_MAX = 20;
const PAID_OFFRAMPS_MAX = 200;

/** What a quote's offramps pay, without those given up. */
export function listQuoteSums(
  session: Session,
  { account_id, id }: RecordKey,
): Promise<CurrencySum[]> {
  return session.query<CurrencySum>(
    `select destination_currency as currency, count(*)::int as count,
       sum(destination_amount)::bigint as amount
     from offramps where account_id = $1 and quote_id = $2 and status <> 'failed'
     group by 1 order by 1`,
    [account_id, id],
  );
}

/** Destinations of a quote's offramps. */
export function listPayees(
  session: Session,
  account_id: string,
  payment_detail_ids: readonly string[],
): Promise<PayeeFacts[]> {
  return session.query<PayeeFacts>(
    `select id as payment_detail_id, created_at,
       encode(coalesce(payee_index, uuid_send(id)), 'hex') as payee
     from payment_details where account_id = $1 and id = any($2::uuid[])`,
    [account_id, payment_detail_ids],
  );
}

/**
 * What payouts of other quotes have reached of the payees of these payment details: the details
 * themselves, and the newest with the same number, which may be at another bank. Each number is
 * searched once: thousands of payment details may have it. Of each only the newest payouts are
 * looked at: thousands may have failed, and a payee who only gets such ones counts as never paid.
 * `offset 0` makes a look-up of it: each could be compared with all payouts of the account.
 */
export function listPaidDetails(
  session: Session,
  account_id: string,
  quote_id: string,
  payment_detail_ids: readonly string[],
): Promise<PaidDetail[]> {
  const newestOf = (detail: string) => `(select rails, status from offramps
    where account_id = $1 and payment_detail_id = ${detail}.id and quote_id <> $2
    order by id desc limit ${PAID_OFFRAMPS_MAX}) as newest where status = 'fiat_sent'`;
  const isPaid = `exists (select from ${newestOf("d")} offset 0)`;
  return session.query<PaidDetail>(
    `with named as (
       select id, coalesce(payee_index, uuid_send(id)) as payee from payment_details
       where account_id = $1 and id = any($3::uuid[])
     ), paid as (
       select d.id from named d where ${isPaid}
       union
       select id from (
         select d.id, row_number() over (partition by d.payee order by d.id desc) as place
         from (select id, coalesce(payee_index, uuid_send(id)) as payee from payment_details
           where account_id = $1
             and coalesce(payee_index, uuid_send(id)) = any (array(select payee from named))
           offset 0) as d
         where ${isPaid}) as same
       where place <= ${PAID_DETAILS_MAX}
     )
     select distinct paid.id, reached.rails from paid
     cross join lateral (select rails from ${newestOf("paid")}) as reached`,
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
