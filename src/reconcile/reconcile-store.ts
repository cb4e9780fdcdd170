import type { Chain } from "../catalogue/chains.ts";
import type { Session, Transaction } from "../platform/db/database.ts";

type Reconciliation = {
  chain: Chain;
  currency: string;
  block_number: number;
  /** What is left once everything known is counted; positive: the chain has more. */
  unexplained: bigint;
  /** Real time. */
  at: Date;
};

export function insertReconciliations(tx: Transaction, rows: readonly Reconciliation[]): void {
  for (const { chain, currency, block_number, unexplained, at } of rows) {
    tx.write(
      `insert into chain_reconciliations (chain, currency, block_number, unexplained, at)
       values ($1, $2, $3, $4, $5) on conflict (chain, currency) do update set
         block_number = excluded.block_number, unexplained = excluded.unexplained,
         at = excluded.at`,
      [chain, currency, block_number, String(unexplained), at],
    );
  }
}

export async function listReconciliations(session: Session): Promise<Reconciliation[]> {
  const rows = await session.query<
    Omit<Reconciliation, "unexplained" | "block_number"> &
      Record<"unexplained", string> &
      Record<"block_number", bigint>
  >("select * from chain_reconciliations order by chain, currency");
  return rows.map((row) => ({
    ...row,
    block_number: Number(row.block_number),
    unexplained: BigInt(row.unexplained),
  }));
}

/** What the ledger says that all accounts have in the wallets of a chain, by currency. */
export async function findWalletSums(
  session: Session,
  ledger_account: string,
): Promise<Map<string, bigint>> {
  const rows = await session.query<{ currency: string; amount: string }>(
    `select l.currency, sum(l.amount)::text as amount from accounts a
     cross join lateral (select currency, amount from ledger_lines
       where account_id = a.id and ledger_account = $1) as l
     group by l.currency`,
    [ledger_account],
  );
  return new Map(rows.map(({ currency, amount }) => [currency, BigInt(amount)]));
}

export type Candidate = {
  kind: "not_credited" | "credited_after" | "finding" | "not_posted" | "posted_after";
  currency: string;
  /** Signed: what it adds to the chain's side. */
  amount: bigint;
  tx_id: string;
  /** It has been on one side only for so long that it is not just in motion. */
  is_late: boolean;
};

type Row = Omit<Candidate, "amount"> & { amount: string };

/** The block of the comparison, and since when what is in motion counts as late. */
type At = { block: number; late_before: Date };

/**
 * Deposits whose place in the two sums differs: on the chain up to the block and not in the ledger,
 * or the other way round. Findings of tokens that are credited else are among them.
 */
export async function listDepositCandidates(
  session: Session,
  chain: Chain,
  { block, late_before }: At,
  limit: number,
): Promise<Candidate[]> {
  const rows = await session.query<Row>(
    `with transfers as (
       select t.*, t.block_number <= $2 and t.finding is distinct from 'vanished' as is_on_chain,
         exists (select from deposit_addresses o join ledger_entries e
             on e.account_id = o.account_id
               and e.key = 'deposit:' || t.chain || ':' || t.tx_id || ':' || t.log_index
           where o.chain = t.chain and o.address = t.address)
         or exists (select from deposit_addresses o join set_aside_transfers s
             on s.account_id = o.account_id and s.chain = t.chain and s.tx_id = t.tx_id
               and s.log_index = t.log_index
             join ledger_entries e on e.account_id = s.account_id
               and e.key = 'fiat_deposit:' || s.id
           where o.chain = t.chain and o.address = t.address) as is_in_ledger
       from evm_transfers t where t.chain = $1
         and (t.finding is null or t.finding in ('other_chain', 'vanished'))
     )
     select case when finding is not null then 'finding' when is_on_chain then 'not_credited'
         else 'credited_after' end as kind,
       token as currency, (case when is_on_chain then amount else -amount end)::text as amount,
       tx_id, finding is not null or mined_at < $4 as is_late
     from transfers where is_on_chain <> is_in_ledger order by number desc limit $3`,
    [chain, block, limit, late_before],
  );
  return rows.map((row) => ({ ...row, amount: BigInt(row.amount) }));
}

/** Tokens that left the treasury up to a block and are not posted yet, or the other way round. */
export async function listSendCandidates(
  session: Session,
  chain: Chain,
  { block, late_before }: At,
): Promise<(Omit<Candidate, "currency" | "amount"> & { contract: string; value: bigint })[]> {
  const rows = await session.query<
    Omit<Candidate, "currency" | "amount"> & { contract: string; value: string }
  >(
    `with sends as (
       select s.tx_id, s.action ->> 'contract' as contract, s.action ->> 'amount' as value,
         s.block_number <= $2 as is_on_chain, s.state_since < $4 as is_late,
         exists (select from accounts a join ledger_entries e on e.account_id = a.id
           where e.key = any(array[
             'refund_sent:' || split_part(s.key, ':', 3),
             'onramp_deliver:' || split_part(s.key, ':', 3),
             'fiat_return_booked:' || split_part(s.key, ':', 2) || ':' || split_part(s.key, ':', 3)
           ])) as is_posted
       from evm_sends s
       where s.chain = $1 and s.address_index is null and s.state in ('mined', 'final')
         and s.action ->> 'kind' = 'token_transfer' and s.action ->> 'amount' ~ '^[0-9]+$'
         and (s.block_number > $2 or s.number > (
           select coalesce(max(number), 0) - $3 from evm_sends where chain = $1))
     )
     select case when is_on_chain then 'not_posted' else 'posted_after' end as kind,
       tx_id, contract, case when is_on_chain then '-' else '' end || value as value, is_late
     from sends where is_on_chain <> is_posted`,
    [chain, block, RECENT_SENDS, late_before],
  );
  return rows.map((row) => ({ ...row, value: BigInt(row.value) }));
}

/** Older ones were posted long ago. */
const RECENT_SENDS = 1_000;

/** How many transfers of a chain were read: of each, less than a unit may be left over. */
export async function countDeposits(session: Session, chain: Chain): Promise<number> {
  const [row] = await session.query<{ count: number }>(
    "select count(*)::int as count from evm_transfers where chain = $1",
    [chain],
  );
  return row!.count;
}

/** `wallet` is null where it was not issued: it is, or was, a treasury. */
export type OwnAddress = { address: string; wallet: string | null; address_index: bigint | null };

/** Every address that is ours on a chain: issued ones, and all that were the treasury. */
export function listOwnAddresses(session: Session, chain: Chain): Promise<OwnAddress[]> {
  return session.query(
    `select address, wallet, address_index from evm_addresses
     union all select s.address, null, null from evm_senders s where s.chain = $1
       and not exists (select from evm_addresses a where a.address = s.address)
     order by address`,
    [chain],
  );
}
