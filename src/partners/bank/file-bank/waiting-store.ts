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

/** The last day of each account of which a line, or the end of a statement, was read. */
export function listLastBooked(
  session: Session,
): Promise<{ bank_account: string; booked_on: string }[]> {
  return session.query(
    `select bank_account, max(day)::text as booked_on
     from (select bank_account, booked_on as day from bank_lines
       union all select bank_account, closed_on from bank_statements) as told
     where day is not null group by bank_account`,
  );
}
