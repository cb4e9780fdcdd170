import type { Session } from "../platform/db/database.ts";
import { accountsOf, columnsOf } from "../platform/db/rows.ts";
import type { UserKey } from "../users/store.ts";

export type Reservation = {
  account_id: string;
  id: string;
  user_id: string;
  deposit_token: string;
  deposit_token_chain: string;
  reserved: bigint;
};

/** What executed quotes of these users have received while unfunded: it stays reserved for them. */
export function listReservations(
  session: Session,
  users: readonly UserKey[],
): Promise<Reservation[]> {
  const accounts = accountsOf(session, users);
  return session.query<Reservation>(
    `select q.account_id, q.id, q.user_id, q.deposit_token, q.deposit_token_chain,
       least(q.received::numeric + q.from_balance - coalesce(q.spent_before, 0),
         q.token_amount - o.abandoned)::bigint as reserved
     from quotes q cross join lateral (
       select coalesce(sum(token_amount), 0) as abandoned from offramps
       where account_id = ${accounts.is_one ? "$1" : "q.account_id"} and quote_id = q.id
         and status = 'failed' offset 0) o
     where q.account_id ${accounts.equal} and q.user_id = any($2::uuid[])
       and q.executed_at is not null and q.funded_at is null and q.closed_at is null
       -- Else nothing is reserved, and there may be any number of them.
       and (q.received > 0 or q.from_balance > 0)`,
    [accounts.value, ...columnsOf(users, "user_id")],
  );
}
