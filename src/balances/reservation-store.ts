import type { Session } from "../platform/db/database.ts";
import { accountsOf, columnsOf } from "../platform/db/rows.ts";
import type { UserKey } from "../users/store.ts";

/** A quote, or the balance of a user in its token and chain. */
type InBalance = UserKey & { deposit_token: string; deposit_token_chain: string };
type ReservingQuote = InBalance & { id: string };

/** What executed quotes have received while unfunded: it stays reserved for them. */
export type Reservations = {
  /** Of a balance. */
  sumOf(balance: InBalance): bigint;
  /** Of the balance of one of the named quotes, for the other ones. */
  sumBeside(quote: ReservingQuote): bigint;
  /** What is reserved for one of the named quotes from now on. */
  set(quote: ReservingQuote, reserved: bigint): void;
};

/**
 * The reservations of these users, with those of the named quotes. Any number of quotes may wait,
 * so the database adds them up.
 */
export async function findReservations(
  session: Session,
  users: readonly UserKey[],
  quote_ids: readonly string[],
): Promise<Reservations> {
  const accounts = accountsOf(session, users);
  // As text: a sum may be larger than a bigint.
  const rows = await session.query<InBalance & { id: string | null; reserved: string }>(
    `select q.account_id, q.user_id, q.deposit_token, q.deposit_token_chain,
       case when q.id = any($3::uuid[]) then q.id end as id,
       sum(least(q.received::numeric + q.from_balance - coalesce(q.spent_before, 0),
         q.token_amount - o.abandoned))::text as reserved
     from quotes q cross join lateral (
       select coalesce(sum(token_amount), 0) as abandoned from offramps
       where account_id = ${accounts.is_one ? "$1" : "q.account_id"} and quote_id = q.id
         and status = 'failed' offset 0) o
     where q.account_id ${accounts.equal} and q.user_id = any($2::uuid[])
       and q.executed_at is not null and q.funded_at is null and q.closed_at is null
       -- Else nothing is reserved, and there may be any number of them.
       and (q.received > 0 or q.from_balance > 0)
     group by 1, 2, 3, 4, 5`,
    [accounts.value, ...columnsOf(users, "user_id"), quote_ids],
  );
  const sums = new Map<string, bigint>();
  const own = new Map<string, bigint>();
  const sumOf = (balance: InBalance) => sums.get(nameOf(balance)) ?? 0n;
  for (const row of rows) {
    const reserved = BigInt(row.reserved);
    sums.set(nameOf(row), sumOf(row) + reserved);
    if (row.id !== null) own.set(row.id, reserved);
  }
  const sumBeside = (quote: ReservingQuote) => sumOf(quote) - (own.get(quote.id) ?? 0n);
  const set = (quote: ReservingQuote, reserved: bigint) => {
    sums.set(nameOf(quote), sumBeside(quote) + reserved);
    own.set(quote.id, reserved);
  };
  return { sumOf, sumBeside, set };
}

function nameOf({ account_id, user_id, deposit_token, deposit_token_chain }: InBalance): string {
  return `${account_id} ${user_id} ${deposit_token} ${deposit_token_chain}`;
}
