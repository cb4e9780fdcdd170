import type { Session } from "../platform/db/database.ts";
import { columnsOf } from "../platform/db/rows.ts";
import { DEPOSITS, listQuoteDeposits } from "./deposit-store.ts";
import { hashAddress, REFUNDS } from "./refund-store.ts";

export type AddressMoney = {
  account_id: string;
  user_id: string;
  token: string;
  chain: string;
  address: string;
  address_index: Buffer;
};

/**
 * What a quote has paid, or keeps, of its deposits and the balance. Reserved as a whole from its
 * execution on; what failed before it was funded cost nothing, what failed later gave back.
 */
const SPENT = `select coalesce(sum(o.token_amount::numeric - coalesce(o.given_back, 0)
      - (select coalesce(sum(b.given_back), 0) from bank_answers b
         where b.account_id = o.account_id and b.assigned_offramp_id = o.id)), 0) as tokens
  from offramps o where o.account_id = q.account_id and o.quote_id = q.id
    and (q.funded_at is not null or (q.executed_at is not null and q.closed_at is null))
    and not (o.status = 'failed' and o.funded_at is null)`;

/**
 * What came from each of these addresses and has neither been paid out nor gone back, by
 * `addressKey`. What a quote was paid with is no longer there to be sent back: else whoever pays a
 * payout from a new address could have the rest of the balance sent to it. What came first pays
 * first, so that of several senders only one can take back a token that is left. Negative where
 * more went back than was there; deposits of `without_quote_id` are left out. Fails if somebody
 * changed a deposit or a refund that counts.
 */
export async function listFromAddresses(
  session: Session,
  wanted: readonly AddressMoney[],
  without_quote_id: string | null = null,
): Promise<Map<string, bigint>> {
  if (wanted.length === 0) return new Map();
  await assertMoney(session, wanted);
  // As text: a sum may be larger than a bigint.
  const rows = await session.query<AddressMoney & { left_over: string }>(
    `select t.*, (
       (select coalesce(sum(own.tokens), 0)
        from (select distinct quote_id from deposits
          where account_id = t.account_id and user_id = t.user_id and sender = t.address
            and chain = t.chain and token = t.token and quote_id is distinct from $7) sent
        join quotes q on q.account_id = t.account_id and q.id = sent.quote_id
        cross join lateral (${SPENT}) as spent
        cross join lateral (
          select sum(case when q.deposit_token <> t.token then d.amount
            else least(d.amount, greatest(q.received::numeric + q.from_balance
              - coalesce(q.spent_before, 0) - spent.tokens - d.later, 0)) end) as tokens
          from (select sender, amount, coalesce(sum(amount) over (order by mined_at, id
                rows between 1 following and unbounded following), 0) as later
              from deposits where account_id = q.account_id and quote_id = q.id
                and token = t.token) d
          where d.sender = t.address) as own)
       - (select coalesce(sum(r.amount), 0) from refunds r where r.account_id = t.account_id
         and r.user_id = t.user_id and r.address_index = t.address_index and r.token = t.token
         and r.status <> 'failed'))::text as left_over
     from unnest($1::uuid[], $2::uuid[], $3::text[], $4::text[], $5::text[], $6::bytea[])
       as t (account_id, user_id, token, chain, address, address_index)`,
    [
      ...columnsOf(wanted, "account_id", "user_id", "token", "chain", "address", "address_index"),
      without_quote_id,
    ],
  );
  return new Map(rows.map((row) => [addressKey(row), BigInt(row.left_over)]));
}

/** What came from these addresses, with what others sent to the same quotes, and what went back. */
async function assertMoney(session: Session, wanted: readonly AddressMoney[]): Promise<void> {
  const [deposits, refunds] = await Promise.all([
    session.query(
      `select * from deposits where (account_id, quote_id) in (
         select d.account_id, d.quote_id from deposits d
         join unnest($1::uuid[], $2::uuid[], $3::text[]) as t (account_id, user_id, address)
           on d.account_id = t.account_id and d.user_id = t.user_id and d.sender = t.address)`,
      columnsOf(wanted, "account_id", "user_id", "address"),
    ),
    session.query(
      `select r.* from refunds r
       join (select distinct * from unnest($1::uuid[], $2::uuid[], $3::bytea[]))
         as t (account_id, user_id, address_index) using (account_id, user_id, address_index)`,
      columnsOf(wanted, "account_id", "user_id", "address_index"),
    ),
  ]);
  DEPOSITS.assertVouched(session, deposits);
  REFUNDS.assertVouched(session, refunds);
}

/**
 * Whether more went back to the senders of this quote's deposits, all together, than their other
 * deposits and `excess` (what the quote does not need) explain: then the quote is paid with what
 * others sent.
 */
export async function hasGoneBack(
  session: Session,
  index_key: Buffer,
  quote_id: string,
  money: Omit<AddressMoney, "address" | "address_index"> & { excess: bigint },
): Promise<boolean> {
  const { account_id, user_id, token, chain, excess } = money;
  const deposits = await listQuoteDeposits(session, account_id, quote_id, token);
  const senders = new Set(deposits.flatMap(({ sender }) => sender ?? []));
  const addresses = [...senders].map((address) => {
    const address_index = hashAddress(index_key, chain, address);
    return { account_id, user_id, token, chain, address, address_index };
  });
  const left = await listFromAddresses(session, addresses, quote_id);
  const gone = [...left.values()].reduce((sum, amount) => (amount < 0n ? sum - amount : sum), 0n);
  return gone > excess;
}

/** The addresses that tokens of a user came from, the last ones first. */
export async function listSenders(
  session: Session,
  { account_id, user_id, token, chain }: Omit<AddressMoney, "address" | "address_index">,
  limit: number,
): Promise<string[]> {
  const rows = await session.query<{ sender: string }>(
    `select sender from deposits
     where account_id = $1 and user_id = $2 and token = $3 and chain = $4 and sender is not null
     group by sender order by max(id::text) desc limit $5`,
    [account_id, user_id, token, chain, limit],
  );
  return rows.map((row) => row.sender);
}

export function addressKey(entry: Omit<AddressMoney, "address_index">): string {
  return [entry.account_id, entry.user_id, entry.token, entry.chain, entry.address].join(" ");
}
