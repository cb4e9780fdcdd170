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

const SEALED_LINES = `select l.account_id, l.currency, l.amount
  from newer n cross join unnest(n.entry_ids) as sealed (id)
  join ledger_lines l on l.account_id = n.account_id and l.entry_id = sealed.id
    and l.ledger_account = 'fx_position'`;

/**
 * The exposure of each account, in one statement: an entry is in a checkpoint, in a later block or
 * not sealed yet.
 */
export const EXPOSURE_PARTS = `with newer as (${NEWER_BLOCKS})
  select account_id, currency, amount from exposure_checkpoints
  union all
  ${SEALED_LINES}
  union all
  select l.account_id, l.currency, l.amount from seal_pending p
  join ledger_lines l on l.account_id = p.account_id and l.entry_id = p.entry_id
    and l.ledger_account = 'fx_position'
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
  tx.write(
    `with newer as (${NEWER_BLOCKS}),
     through as (select account_id, max(number) as number from newer group by account_id),
     parts as (
       ${SEALED_LINES}
       union all select account_id, 'usd', 0 from through
       union all select account_id, c.currency, 0
         from exposure_checkpoints c join through using (account_id)
     )
     insert into exposure_checkpoints as c (account_id, currency, amount, through_number)
     select account_id, currency, sum(amount), through.number
     from parts join through using (account_id) group by account_id, currency, through.number
     on conflict (account_id, currency) do update
       set amount = c.amount + excluded.amount, through_number = excluded.through_number`,
    [],
  );
}
