import type { Session, Transaction } from "../platform/db/database.ts";
import { FIRST_ID } from "../platform/ids.ts";

/** The open position of all accounts together; positive if we have to buy the currency. */
export type Exposure = { currency: string; amount: bigint };

// The entries of an account after its checkpoint: a range of the primary key.
const NEWER = `accounts a
  left join lateral (
    select c.through_id from exposure_checkpoints c where c.account_id = a.id limit 1
  ) as last on true
  join ledger_lines l on l.account_id = a.id and l.entry_id > coalesce(last.through_id, $1::uuid)
    and l.ledger_account = 'fx_position'`;

export async function listExposures(session: Session): Promise<Exposure[]> {
  const rows = await session.query<{ currency: string; amount: string }>(
    `select currency, sum(amount)::text as amount from (
       select currency, amount from exposure_checkpoints
       union all
       select l.currency, l.amount from ${NEWER}
     ) as parts group by currency having sum(amount) <> 0 order by currency`,
    [FIRST_ID],
  );
  return rows.map(({ currency, amount }) => ({ currency, amount: BigInt(amount) }));
}

/** Adds the entries up to `through_id`, which must be older than any open transaction. */
export function updateCheckpoints(tx: Transaction, through_id: string): void {
  tx.write(
    `insert into exposure_checkpoints as c (account_id, currency, amount, through_id)
     select a.id, l.currency, sum(l.amount), $2 from ${NEWER} and l.entry_id <= $2
     group by a.id, l.currency
     on conflict (account_id, currency) do update
       set amount = c.amount + excluded.amount, through_id = excluded.through_id`,
    [FIRST_ID, through_id],
  );
  tx.write("update exposure_checkpoints set through_id = $1 where through_id < $1", [through_id]);
}
