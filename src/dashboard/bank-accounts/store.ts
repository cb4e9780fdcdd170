import type { Session } from "../../platform/db/database.ts";
import type { Page } from "../../platform/http/list.ts";

type ListedAccount = {
  id: string;
  user_id: string;
  currency: string;
  rails: string;
  status: string;
  created_at: Date;
  /** Of its newest payouts, counted up to PAYOUTS_MAX. */
  times_paid: number;
  last_paid_at: Date | null;
};

/** The newest payouts of a bank account that are looked at. */
const PAYOUTS_MAX = 100;

/** The bank accounts of all users, newest first, with when they were paid last. */
export function listBankAccounts(
  session: Session,
  account_id: string,
  { status, user_id }: { status: string | undefined; user_id: string | undefined },
  { below_id, from_id, limit }: Page,
): Promise<ListedAccount[]> {
  const values: unknown[] = [account_id, below_id, from_id, limit + 1];
  const chosen = Object.entries({ status, user_id })
    .filter(([, value]) => value !== undefined)
    .map(([name, value]) => ` and d.${name} = $${values.push(value)}`);
  return session.query<ListedAccount>(
    `select d.id, d.user_id, d.currency, d.rails, d.status, d.created_at, paid.*
     from payment_details d
     cross join lateral (
       select count(*)::integer as times_paid, max(updated_at) as last_paid_at
       from (select status, updated_at from offramps
         where payment_detail_id = d.id and account_id = $1
         order by id desc limit ${PAYOUTS_MAX}) as newest
       where status = 'fiat_sent') as paid
     where d.account_id = $1 and d.id < $2 and d.id >= $3${chosen.join("")}
     order by d.id desc limit $4`,
    values,
  );
}
