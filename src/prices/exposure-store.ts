import type { Session, Transaction } from "../platform/db/database.ts";

/** The open position of all accounts together; positive if we have to buy the currency. */
export type Exposure = { currency: string; amount: bigint };

// The sealed blocks of each account after its checkpoint. The order is the position in the chain,
// not the time: an entry that is committed late is in a later block.
const NEWER_BLOCKS = `select a.id as account_id, b.number, b.entry_ids from accounts a
  left join lateral (
    select c.through_number from exposure_checkpoints c where c.account_id = a.id limit 1
  ) as last on true
  join seal_blocks b on b.account_id = a.id and b.log = 'ledger'
    and b.number > coalesce(last.through_number, 0)`;

/** The same of account $1. */
const NEWER_OF_ACCOUNT = `select b.account_id, b.number, b.entry_ids from seal_blocks b
  where b.account_id = $1 and b.log = 'ledger' and b.number > coalesce((
    select c.through_number from exposure_checkpoints c where c.account_id = $1 limit 1), 0)`;

/** Each entry is looked up: each block could be compared with all lines of the account. */
const sealedLines = (account = "n.account_id") => `select l.account_id, l.currency, l.amount
  from newer n cross join unnest(n.entry_ids) as sealed (id)
  cross join lateral (select account_id, currency, amount from ledger_lines
    where account_id = ${account} and entry_id = sealed.id
      and ledger_account = 'fx_position' offset 0) as l`;

/**
 * The exposure of each account, in one statement: an entry is in a checkpoint, in a later block or
 * not sealed yet.
 */
export const EXPOSURE_PARTS = `with newer as (${NEWER_BLOCKS})
  select account_id, currency, amount from exposure_checkpoints
  union all
  ${sealedLines()}
  union all
  select l.account_id, l.currency, l.amount from seal_pending p
  cross join lateral (select account_id, currency, amount from ledger_lines
    where account_id = p.account_id and entry_id = p.entry_id
      and ledger_account = 'fx_position' offset 0) as l
  where p.log = 'ledger'`;

export async function listExposures(session: Session): Promise<Exposure[]> {
  const rows = await session.query<{ currency: string; amount: string }>(
    `select currency, sum(amount)::text as amount from (${EXPOSURE_PARTS}) as parts
     group by currency having sum(amount) <> 0 order by currency`,
  );
  return rows.map(({ currency, amount }) => ({ currency, amount: BigInt(amount) }));
}

/**
 * Adds the blocks that were sealed since. All rows of an account are through the same block; one of
 * zero usd marks the place where there is no position.
 */
export function updateCheckpoints(tx: Transaction): void {
  tx.write(addBlocks(NEWER_BLOCKS), []);
}

const addBlocks = (newer: string, account?: string) => `
  with newer as (${newer}),
  through as (select account_id, max(number) as number from newer group by account_id),
  parts as (
    ${sealedLines(account)}
    union all select account_id, 'usd', 0 from through
    union all select c.account_id, c.currency, 0 from exposure_checkpoints c
      join through on c.account_id = ${account ?? "through.account_id"}
  )
  insert into exposure_checkpoints as c (account_id, currency, amount, through_number)
  select ${account ?? "account_id"}, currency, sum(amount), through.number
  from parts join through using (account_id) group by account_id, currency, through.number
  on conflict (account_id, currency) do update
    set amount = c.amount + excluded.amount, through_number = excluded.through_number`;

/** The accounts that have blocks after their checkpoints. */
export async function listBehindBlocks(session: Session): Promise<string[]> {
  const rows = await session.query<{ account_id: string }>(
    `select distinct account_id from (${NEWER_BLOCKS}) as newer`,
  );
  return rows.map((row) => row.account_id);
}

/** The same for one account; two at a time would add the same blocks twice, hence the lock. */
export async function updateCheckpoint(tx: Transaction, account_id: string): Promise<void> {
  await tx.query("select pg_advisory_xact_lock(hashtextextended($1, 0))", [
    `exposure ${account_id}`,
  ]);
  tx.write(addBlocks(NEWER_OF_ACCOUNT, "$1::uuid"), [account_id]);
}
