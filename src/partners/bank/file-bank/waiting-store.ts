import type { Session } from "../../../platform/db/database.ts";

type WaitingSum = {
  bank_account: string;
  scheme: string;
  message_id: string;
  currency: string;
  payments: number;
  amount: bigint;
};

const FILES_MAX = 1_000;

/** What waits in files that the bank cannot take yet, by file and currency. */
export function listWaitingFiles(session: Session): Promise<WaitingSum[]> {
  return session.query(
    `select f.bank_account, f.scheme, f.message_id, p.currency, count(*)::integer as payments,
       sum(p.amount)::bigint as amount
     from (select * from bank_files where state <> 'written' order by closes_at, id limit $1) f
     join bank_payments p on p.file_id = f.id
     group by f.closes_at, f.bank_account, f.scheme, f.message_id, p.currency
     order by f.closes_at, f.message_id, p.currency`,
    [FILES_MAX],
  );
}

/** Lines of an account's statements that its other reports have not told yet. */
export async function countUntoldLines(
  session: Session,
  bank_account: string,
  from_day: string,
): Promise<number> {
  const [row] = await session.query<{ count: number }>(
    `select count(distinct e.entry_key)::integer as count
     from bank_statements s join bank_statement_entries e on e.statement_number = s.number
     where s.bank_account = $1 and s.closed_on >= $2 and not exists (
       select from bank_lines l where l.bank_account = $1 and l.entry_key = e.entry_key)`,
    [bank_account, from_day],
  );
  return row!.count;
}
