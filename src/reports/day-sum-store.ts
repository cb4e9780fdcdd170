import type { Session, Transaction } from "../platform/db/database.ts";

/** A day in UTC, and the name under which the lines of a ledger account are summed. */
const DAY = "(e.created_at at time zone 'UTC')::date";
const NAME = `case when starts_with(l.ledger_account, 'wallet:') then l.ledger_account
  else split_part(l.ledger_account, ':', 1) end`;

// Blocks of account `$1` that are not in the sums. The order is the position in the chain, not the
// time: an entry that is committed late is in a later block.
const NEWER_BLOCKS = `select b.number, b.entry_ids from seal_blocks b
  where b.account_id = $1 and b.log = 'ledger' and b.number > coalesce(
    (select m.through_number from ledger_sum_marks m where m.account_id = $1), 0)`;

/** Every entry of account `$1` is in the sums, in a later block, or not sealed yet. */
const UNSUMMED = `select unnest(entry_ids) as id from (${NEWER_BLOCKS}) as newer
  union all
  select entry_id from seal_pending where account_id = $1 and log = 'ledger'`;

const LINE = `${DAY} as day, ${NAME} as ledger_account, l.currency, l.amount`;

// Entry by entry: the planner expects many unsealed entries, and would read the whole ledger.
const linesOf = (entries: string) =>
  `select ${LINE} from (${entries}) as chosen
   cross join lateral (select e.id, e.created_at from ledger_entries e
     where e.account_id = $1 and e.id = chosen.id limit 1) as e
   cross join lateral (select l.ledger_account, l.currency, l.amount from ledger_lines l
     where l.account_id = $1 and l.entry_id = e.id offset 0) as l`;

/** The parts of all sums of account `$1`, in one statement. */
export const DAY_SUM_PARTS = `select day, ledger_account, currency, amount from ledger_day_sums
  where account_id = $1
  union all
  ${linesOf(UNSUMMED)}`;

/** What the parts must sum to. */
export const ALL_LINES = `select ${LINE} from ledger_entries e
  join ledger_lines l on l.account_id = e.account_id and l.entry_id = e.id
  where e.account_id = $1`;

export type LineSum = { ledger_account: string; currency: string; amount: bigint };

/**
 * The sums of all lines, or of those of entries before an id that is on this day. Accounts of one
 * record are summed under their name, so that the answer stays small.
 */
export async function listDaySums(
  session: Session,
  account_id: string,
  { before, name }: { before: { day: string; day_id: string; id: string } | null; name?: string },
): Promise<LineSum[]> {
  const of_name = name === undefined ? "" : "where ledger_account = $2";
  const values = [account_id, ...(name === undefined ? [] : [name])];
  const [day, day_id, id] = [1, 2, 3].map((more) => `$${values.length + more}`);
  const parts = before
    ? `select ledger_account, currency, amount from ledger_day_sums
       where account_id = $1 and day < ${day}::date
       union all
       select ledger_account, currency, amount
       from (${linesOf(`select id from (${UNSUMMED}) as open where id < ${day_id}`)}) as earlier
       union all
       select ${NAME}, l.currency, l.amount from ledger_lines l
       where l.account_id = $1 and l.entry_id >= ${day_id} and l.entry_id < ${id}`
    : `select ledger_account, currency, amount from (${DAY_SUM_PARTS}) as all_parts`;
  // As text: the sum may be larger than a bigint.
  const rows = await session.query<{ ledger_account: string; currency: string; amount: string }>(
    `select ledger_account, currency, sum(amount)::text as amount from (${parts}) as parts
     ${of_name} group by 1, 2 order by 1, 2`,
    before ? [...values, before.day, before.day_id, before.id] : values,
  );
  return rows.map((row) => ({ ...row, amount: BigInt(row.amount) }));
}

/** The accounts with blocks that are not in their sums. */
export async function listUnsummedAccounts(session: Session): Promise<string[]> {
  const rows = await session.query<{ id: string }>(
    `select a.id from accounts a left join ledger_sum_marks m on m.account_id = a.id
     where exists (select from seal_blocks b where b.account_id = a.id and b.log = 'ledger'
       and b.number > coalesce(m.through_number, 0))
     order by a.id`,
  );
  return rows.map(({ id }) => id);
}

/** Creates the mark if there is none, and locks it: one process at a time adds to the sums. */
export async function lockSumMark(tx: Session, account_id: string): Promise<void> {
  await tx.query(
    `insert into ledger_sum_marks (account_id, through_number) values ($1, 0)
     on conflict (account_id) do nothing`,
    [account_id],
  );
  await tx.query("select from ledger_sum_marks where account_id = $1 for update", [account_id]);
}

/** Adds the next blocks to the sums. */
export function upsertDaySums(tx: Transaction, account_id: string, blocks_max: number): void {
  tx.write(
    `with newer as (${NEWER_BLOCKS} order by b.number limit $2),
     marked as (
       update ledger_sum_marks set through_number = (select max(number) from newer)
       where account_id = $1 and exists (select from newer)
     )
     insert into ledger_day_sums as s (account_id, day, ledger_account, currency, amount)
     select $1, day, ledger_account, currency, sum(amount)
     from (${linesOf("select unnest(entry_ids) as id from newer")}) as lines
     group by day, ledger_account, currency
     on conflict (account_id, day, ledger_account, currency)
     do update set amount = s.amount + excluded.amount`,
    [account_id, blocks_max],
  );
}
