import { type Check, inOrder, isOperator } from "./checks.ts";
import { entryName } from "./verify-ledger.ts";

type Stray = { id: string; key: string };

/** Each line that the operator booked has its entry, with its amount, and no other entry exists. */
const checkLines: Check = async (session, account_id) => {
  if (!(await isOperator(session, account_id))) return null;
  const [row] = await session.query<Stray & { number: bigint | null }>(
    `with line as (
       select number, 'bank_line:' || bank_account || ':' || entry_key || '-' || part as key,
         'bank:' || bank_account as ledger_account, currency,
         case when kind in ('incoming', 'returned') then amount else -amount end as amount
       from bank_lines where state = 'treasury' and amount > 0),
     posted as (
       select e.id, e.key, l.ledger_account, l.currency, l.amount from ledger_entries e
       join ledger_lines l on l.account_id = e.account_id and l.entry_id = e.id
         and starts_with(l.ledger_account, 'bank:')
       where e.account_id = $1 and e.kind in ('bank_transfer', 'bank_fee'))
     select line.number, posted.id, key
     from line full join posted using (key, ledger_account, currency, amount)
     where line.number is null or posted.id is null order by key limit 1`,
    [account_id],
  );
  if (!row) return null;
  if (row.number === null) {
    return `${entryName(row.id, account_id)} (${row.key}): no line of a statement explains it`;
  }
  return `line-${row.number} of a bank statement is booked, but has no ledger entry like it`;
};

/** A deposit that was kept has its entry, and the other way round. */
const checkKept: Check = async (session, account_id) => {
  const [row] = await session.query<{ deposit_id: string | null; key: string | null }>(
    `with posted as (
       select e.key, l.currency, l.amount from ledger_entries e
       join ledger_lines l on l.account_id = e.account_id and l.entry_id = e.id
         and l.ledger_account = 'suspense'
       where e.account_id = $1 and e.kind = 'fiat_deposit_kept')
     select d.id as deposit_id, posted.key from posted
     full join (select 'fiat_kept:' || id as key, id, currency, amount from fiat_deposits
       where account_id = $1 and status = 'kept') d using (key, currency, amount)
     where d.id is null or posted.amount is null order by 1, 2 limit 1`,
    [account_id],
  );
  if (!row) return null;
  return row.deposit_id === null
    ? `account ${account_id} has a ledger entry ${row.key}, but the deposit was not kept`
    : `deposit ${row.deposit_id}: it was kept, but the ledger has no entry like it`;
};

/** Whatever is booked of the operator's own money in banks was somebody's decision. */
const checkActs: Check = async (session, account_id) => {
  const [row] = await session.query<Stray>(
    `select e.id, e.key from ledger_entries e where e.account_id = $1
       and e.kind in ('bank_opened', 'bank_transfer', 'bank_fee', 'fiat_deposit_kept')
       and not exists (select from audit_entries a where a.account_id = $1
         and a.action = 'treasury.book' and a.at = e.created_at
         and strpos(a.detail, e.key) > 0)
     order by e.id limit 1`,
    [account_id],
  );
  if (!row) return null;
  return `${entryName(row.id, account_id)} (${row.key}): nobody decided so`;
};

/** Compares what the operator booked of its own money with statements, deposits and audit log. */
export const verifyTreasury = inOrder(checkLines, checkKept, checkActs);
