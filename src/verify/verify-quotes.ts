import {
  type DepositMoney,
  depositFinal,
  type RefundMoney,
  refundFailed,
  refundSent,
  refundStarted,
} from "../ledger/balance-postings.ts";
import type { NewEntry } from "../ledger/model.ts";
import { type QuoteMoney, quoteFunded } from "../ledger/offramp-postings.ts";
import type { PostingKind } from "../ledger/posting-kinds.ts";
import { type Check, eachPage, eachPageAbove, inOrder } from "./checks.ts";
import { compareEntries } from "./compare-entries.ts";
import { entryName } from "./verify-ledger.ts";

const checkTotals: Check = async (session, account_id) => {
  const [row] = await session.query<{ id: string; is_received: boolean }>(
    `select q.id, q.received = coalesce(d.amount, 0) as is_received
     from quotes q
     left join (select quote_id, sum(token_amount) as token_amount, sum(token_fee) as token_fees,
         count(*) as count
       from offramps where account_id = $1 group by quote_id) o on o.quote_id = q.id
     left join (select quote_id, token, sum(amount) as amount
       from deposits where account_id = $1 group by quote_id, token) d
       on d.quote_id = q.id and d.token = q.deposit_token
     where q.account_id = $1 and (q.received <> coalesce(d.amount, 0)
       or q.token_amount <> coalesce(o.token_amount, 0)
       or q.token_fees <> coalesce(o.token_fees, 0)
       or q.offramp_count <> coalesce(o.count, 0))
     order by q.id limit 1`,
    [account_id],
  );
  if (!row) return null;
  return row.is_received
    ? `quote ${row.id} of account ${account_id}: its totals are not the sums of its offramps`
    : `quote ${row.id} of account ${account_id}: what it received is not the sum of its deposits`;
};

type OwnedQuote = { id: string; chain: string; address: string; is_wrong: boolean };
type DepositAddress = { chain: string; address: string; account_id: string; quote_id: string };

const contradicts = (id: string, account_id: string) =>
  `quote ${id} of account ${account_id}: it contradicts other records`;

/**
 * A quote matches its offramps, its deposit address, its ledger entry and its proposal. Addresses
 * are looked up by their keys and not joined: their table may be on another node than the quotes.
 */
const checkOwners: Check = (session, account_id) =>
  eachPage<OwnedQuote>(session, account_id, OWNED_QUOTES, async (quotes) => {
    const addresses = await session.query<DepositAddress>(
      `select a.chain, a.address, a.account_id, a.quote_id from deposit_addresses a
       join unnest($1::text[], $2::text[]) as wanted (chain, address) using (chain, address)`,
      [quotes.map(({ chain }) => chain), quotes.map(({ address }) => address)],
    );
    const of_quote = new Map(addresses.map((row) => [`${row.chain} ${row.address}`, row]));
    const wrong = quotes.find(({ id, chain, address, is_wrong }) => {
      const found = of_quote.get(`${chain} ${address}`);
      return is_wrong || found?.quote_id !== id || found.account_id !== account_id;
    });
    return wrong ? contradicts(wrong.id, account_id) : null;
  });

// The page is a query of its own: the planner knows then that few rows are compared.
const OWNED_QUOTES = `select q.id, q.deposit_token_chain as chain, q.deposit_address as address,
    q.funded_at is null and q.shortfall <> 0
    or exists (select from offramps o where o.account_id = $1 and o.quote_id = q.id
      and (o.user_id, o.deposit_token, o.deposit_token_chain)
        <> (q.user_id, q.deposit_token, q.deposit_token_chain))
    or exists (select from ledger_entries e where e.account_id = $1
      and e.key = 'fund:' || q.id and e.created_at <> q.funded_at)
    or q.proposal_id is not null and not exists (select from proposals p
      where p.account_id = $1 and p.id = q.proposal_id and p.record_id = q.id
        and (q.approval_status <> 'done' or p.status = 'done'))
    or exists (select from proposals p
      where p.account_id = $1 and p.record_id = q.id and p.kind = 'pay-quote'
        and (p.id is distinct from q.proposal_id
          or p.status <> 'done' and exists (select from offramps o
            where o.account_id = $1 and o.quote_id = q.id and o.attempt > 0))) as is_wrong
  from (select * from quotes where account_id = $1 and id > $2 order by id limit $3) q
  order by q.id`;

/** Every deposit address of the account belongs to a quote. */
const checkAddresses: Check = (session, account_id) =>
  eachPageAbove<DepositAddress>(
    {
      session,
      query: `select chain, address, account_id, quote_id from deposit_addresses
        where account_id = $1 and (chain, address) > ($2, $3) order by chain, address limit $4`,
      values: [account_id],
      above: ["", ""],
      keyOf: ({ chain, address }) => [chain, address],
    },
    async (addresses) => {
      const quotes = await session.query<{ id: string }>(
        "select id from quotes where account_id = $1 and id = any($2::uuid[])",
        [account_id, addresses.map(({ quote_id }) => quote_id)],
      );
      const known = new Set(quotes.map(({ id }) => id));
      const stray = addresses.find(({ quote_id }) => !known.has(quote_id));
      return stray ? contradicts(stray.quote_id, account_id) : null;
    },
  );

/** The id in a key, or null if it has none: a cast would fail on a key like `fund:x`. */
const ID_IN_KEY = `case
  when split_part(e.key, ':', 2) ~ '^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$'
  then split_part(e.key, ':', 2)::uuid end`;

/** How to find an entry's record by its key, using an index. */
const RECORDS: readonly { kinds: readonly PostingKind[]; record: string }[] = [
  {
    kinds: ["deposit_final"],
    record: `deposits r where r.account_id = $1 and r.chain = split_part(e.key, ':', 2)
      and r.tx_id = split_part(e.key, ':', 3) and r.log_index::text = split_part(e.key, ':', 4)`,
  },
  {
    kinds: ["quote_funded"],
    record: `quotes r where r.account_id = $1 and r.id = ${ID_IN_KEY} and r.funded_at is not null`,
  },
  {
    kinds: [
      ...["offramp_funded", "payout_instructed", "payout_funded"],
      ...["payout_booked", "payout_returned"],
      ...["offramp_failed_before_instruction", "offramp_failed_after_instruction"],
      ...["offramp_failed_after_return", "payout_rerouted"],
    ] as PostingKind[],
    record: `offramps r where r.account_id = $1 and r.id = ${ID_IN_KEY}`,
  },
  {
    kinds: ["refund_started"],
    record: `refunds r where r.account_id = $1 and r.id = ${ID_IN_KEY}`,
  },
  {
    kinds: ["refund_sent"],
    record: `refunds r where r.account_id = $1 and r.id = ${ID_IN_KEY} and r.status = 'sent'`,
  },
  {
    kinds: ["refund_failed"],
    record: `refunds r where r.account_id = $1 and r.id = ${ID_IN_KEY} and r.status = 'failed'`,
  },
];

const checkOrphans: Check = async (session, account_id) => {
  for (const { kinds, record } of RECORDS) {
    const [row] = await session.query<{ id: string; key: string }>(
      `select e.id, e.key from ledger_entries e
       where e.account_id = $1 and e.kind = any($2::text[]) and not exists (select from ${record})
       order by e.id limit 1`,
      [account_id, kinds],
    );
    if (row) return `${entryName(row.id, account_id)} (${row.key}): it belongs to no record`;
  }
  return null;
};

const checkDeposits: Check = (session, account_id) =>
  eachPage<DepositMoney & { id: string }>(
    session,
    account_id,
    `select account_id, id, user_id, chain, tx_id, log_index, token, amount from deposits
     where account_id = $1 and id > $2 order by id limit $3`,
    (rows) => compareEntries(session, account_id, rows.map(depositFinal)),
  );

/**
 * Only its entry shows how much of the user's money a quote used; everything else must match it. It
 * does not pay for offramps that failed before it was funded.
 */
const checkFunding: Check = (session, account_id) =>
  eachPage<FundedQuote>(
    session,
    account_id,
    `select q.account_id, q.id, q.user_id, q.deposit_token, q.deposit_token_chain, q.token_amount
         - (select coalesce(sum(o.token_amount), 0)::bigint from offramps o
           where o.account_id = $1 and o.quote_id = q.id and o.status = 'failed'
             and o.funded_at is null) as token_amount,
       (select coalesce(sum(l.amount), 0)::text from ledger_entries e
         join ledger_lines l on l.account_id = e.account_id and l.entry_id = e.id
         where e.account_id = $1 and e.key = 'fund:' || q.id
           and l.ledger_account = 'owed:' || q.user_id || ':' || q.deposit_token_chain)
         as used,
       q.shortfall, (select coalesce(-sum(l.amount), 0)::text from offramps o
         cross join lateral (select 'giveback:' || o.id as key
           union all select 'assign:' || o.id || ':' || b.id from bank_answers b
           where b.account_id = $1 and b.assigned_offramp_id = o.id
             and b.given_back is not null) given
         join ledger_entries e on e.account_id = o.account_id and e.key = given.key
         join ledger_lines l on l.account_id = e.account_id and l.entry_id = e.id
         where o.account_id = $1 and o.quote_id = q.id and o.given_back is not null
           and l.ledger_account = 'short_deposits') as deducted
     from quotes q
     where q.account_id = $1 and q.id > $2 and q.funded_at is not null order by q.id limit $3`,
    async (rows) => {
      const excessive = rows.find((row) => BigInt(row.used) > row.token_amount);
      if (excessive) {
        const name = `quote ${excessive.id} of account ${account_id}`;
        return `${name}: it took ${excessive.used}, more than its amount`;
      }
      const expected = rows.map((row) => quoteFunded(row, BigInt(row.used)));
      const fault = await compareEntries(session, account_id, expected);
      if (fault) return fault;
      const short = rows.find(
        ({ token_amount, used, deducted, shortfall }) =>
          token_amount - BigInt(used) - BigInt(deducted) !== shortfall,
      );
      if (!short) return null;
      const name = `quote ${short.id} of account ${account_id}`;
      return `${name}: its shortfall is not what it was short of, less what was deducted`;
    },
  );

type FundedQuote = QuoteMoney & { shortfall: bigint; used: string; deducted: string };

const checkRefunds: Check = (session, account_id) =>
  eachPage<RefundMoney & { status: string }>(
    session,
    account_id,
    `select account_id, id, user_id, token, chain, amount, network_fee, status from refunds
     where account_id = $1 and id > $2 order by id limit $3`,
    (rows) => {
      const sent = rows.filter((row) => row.status === "sent");
      const failed = rows.filter((row) => row.status === "failed");
      const expected: NewEntry[] = [
        ...rows.map(refundStarted),
        ...sent.map(refundSent),
        ...failed.map(refundFailed),
      ];
      return compareEntries(session, account_id, expected);
    },
  );

/** A funded quote passes its tokens to its offramps in chunks: the rest stays in this account. */
const checkDepositClearing: Check = async (session, account_id) => {
  const [row] = await session.query<{ token: string; held: string; awaited: string }>(
    `select token, coalesce(l.held, 0)::text as held, coalesce(o.awaited, 0)::text as awaited
     from (select currency as token, -sum(amount) as held from ledger_lines
       where account_id = $1 and ledger_account = 'deposit_clearing' group by currency) l
     full join (select q.deposit_token as token, sum(o.token_amount) as awaited
       from quotes q join offramps o on o.account_id = q.account_id and o.quote_id = q.id
       where q.account_id = $1 and q.funded_at is not null and o.funded_at is null
         and o.status <> 'failed'
       group by q.deposit_token) o using (token)
     where coalesce(l.held, 0) <> coalesce(o.awaited, 0) order by token limit 1`,
    [account_id],
  );
  if (!row) return null;
  const name = `deposit_clearing of account ${account_id}`;
  return `${name} holds ${row.held} ${row.token}, but offramps require ${row.awaited}`;
};

/** Compares quotes, deposits and refunds with each other and with the ledger. */
export const verifyQuotes = inOrder(
  ...[checkTotals, checkOwners, checkAddresses, checkOrphans, checkDeposits, checkFunding],
  ...[checkRefunds, checkDepositClearing],
);
