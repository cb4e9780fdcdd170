import type { Session, Transaction } from "../platform/db/database.ts";
import type { OwedBalance } from "./store.ts";

/** A day in UTC, and the name under which the lines of a ledger account are summed. */
const DAY = "(e.created_at at time zone 'UTC')::date";
const NAME = `case when l.ledger_account like any ('{wallet:%,bank:%}') then l.ledger_account
  else split_part(l.ledger_account, ':', 1) end`;

/** How far the daily sums go, and those of what is owed. */
type Mark = "through_number" | "owed_through_number";

// Blocks of account `$1` that are not in the sums. The order is the position in the chain, not the
// time: an entry that is committed late is in a later block.
const newerBlocks = (mark: Mark) => `select b.number, b.entry_ids from seal_blocks b
  where b.account_id = $1 and b.log = 'ledger' and b.number > coalesce(
    (select m.${mark} from ledger_sum_marks m where m.account_id = $1), 0)`;

/** Every entry of account `$1` is in the sums, in a later block, or not sealed yet. */
const unsummed = (
  mark: Mark,
) => `select unnest(entry_ids) as id from (${newerBlocks(mark)}) as newer
  union all
  select entry_id from seal_pending where account_id = $1 and log = 'ledger'`;
const UNSUMMED = unsummed("through_number");

const LINE = `${DAY} as day, ${NAME} as ledger_account, l.currency, l.amount`;

// Entry by entry: the planner expects many unsealed entries, and would read the whole ledger.
const linesOf = (entries: string) =>
  `select ${LINE} from (${entries}) as chosen
   cross join lateral (select e.id, e.created_at from ledger_entries e
     where e.account_id = $1 and e.id = chosen.id limit 1) as e
   cross join lateral (select l.ledger_account, l.currency, l.amount from ledger_lines l
     where l.account_id = $1 and l.entry_id = e.id offset 0) as l`;

// What is owed is a credit: its lines are negative.
function owedLinesOf(entries: string): string {
  return `select split_part(l.ledger_account, ':', 3) as chain, l.currency, -l.amount as amount
   from (${entries}) as chosen
   cross join lateral (select l.ledger_account, l.currency, l.amount from ledger_lines l
     where l.account_id = $1 and l.entry_id = chosen.id offset 0) as l
   where starts_with(l.ledger_account, 'owed:')`;
}

/** The parts of all sums of account `$1`, in one statement. */
export const DAY_SUM_PARTS = `select day, ledger_account, currency, amount from ledger_day_sums
  where account_id = $1
  union all
  ${linesOf(UNSUMMED)}`;

/** The parts of what account `$1` owes to its users, in one statement. */
export const OWED_PARTS = `select chain, currency, amount from ledger_owed_sums
  where account_id = $1
  union all
  select chain, currency, amount from (${owedLinesOf(unsummed("owed_through_number"))}) as lines`;

/** What the daily parts must sum to. */
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

type DayFlow = { day: string; currency: string; amount: bigint };

/** What wallets and bank accounts gained (or lost, if negative) on each day from this one on. */
export async function listDayFlows(
  session: Session,
  account_id: string,
  first_day: string,
): Promise<DayFlow[]> {
  const rows = await session.query<{ day: string; currency: string; amount: string }>(
    `select day::text, currency, sum(amount)::text as amount
     from (${DAY_SUM_PARTS}) as parts
     where day >= $2::date and (ledger_account = 'bank'
       or ledger_account like any ('{wallet:%,bank:%}'))
     group by 1, 2 having sum(amount) <> 0 order by 2, 1`,
    [account_id, first_day],
  );
  return rows.map((row) => ({ ...row, amount: BigInt(row.amount) }));
}

/** The accounts with blocks that are not in their sums. */
export async function listUnsummedAccounts(session: Session): Promise<string[]> {
  if (session.by_account) {
    const behind = await session.query<{ account_id: string }>(
      `select b.account_id from (
         select account_id, max(number) as number from seal_blocks
         where log = 'ledger' group by account_id
       ) as b left join ledger_sum_marks m on m.account_id = b.account_id
       where b.number > least(coalesce(m.through_number, 0), coalesce(m.owed_through_number, 0))
       order by b.account_id`,
    );
    return behind.map(({ account_id }) => account_id);
  }
  const rows = await session.query<{ id: string }>(
    `select a.id from accounts a left join ledger_sum_marks m on m.account_id = a.id
     where exists (select from seal_blocks b where b.account_id = a.id and b.log = 'ledger'
       and b.number > least(coalesce(m.through_number, 0), coalesce(m.owed_through_number, 0)))
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

/** Adds the next blocks to the daily sums. */
export function upsertDaySums(tx: Transaction, account_id: string, blocks_max: number): void {
  tx.write(
    `with newer as (${newerBlocks("through_number")} order by b.number limit $2),
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

/** Adds the next blocks to what is owed. */
export function upsertOwedSums(tx: Transaction, account_id: string, blocks_max: number): void {
  tx.write(
    `with newer as (${newerBlocks("owed_through_number")} order by b.number limit $2),
     marked as (
       update ledger_sum_marks set owed_through_number = (select max(number) from newer)
       where account_id = $1 and exists (select from newer)
     )
     insert into ledger_owed_sums as s (account_id, chain, currency, amount)
     select $1, chain, currency, sum(amount)
     from (${owedLinesOf("select unnest(entry_ids) as id from newer")}) as lines
     group by chain, currency
     on conflict (account_id, chain, currency) do update set amount = s.amount + excluded.amount`,
    [account_id, blocks_max],
  );
}

/** What the account owes to all of its users, by token and chain. */
export async function listOwedSums(session: Session, account_id: string): Promise<OwedBalance[]> {
  // As text: the sum may be larger than a bigint.
  const rows = await session.query<{ currency: string; chain: string; balance: string }>(
    `select currency, chain, sum(amount)::text as balance from (${OWED_PARTS}) as parts
     group by 1, 2 order by 1, 2`,
    [account_id],
  );
  return rows.map((row) => ({ ...row, balance: BigInt(row.balance) }));
}
