import type { Session, Transaction } from "../../../platform/db/database.ts";
import type { ClosedFile } from "./model.ts";
import type { DueFile } from "./store.ts";

const CLOSED_COLUMNS = `id, bank_account, scheme, execution_date::text as execution_date, state,
  message_id, created_at, payments, control_sum, modifier, revision, temporary_name`;

/** Open files of an account whose window has closed, oldest first. */
export function listDueFiles(
  session: Session,
  bank_account: string,
  now: Date,
  limit: number,
): Promise<{ id: string }[]> {
  return session.query(
    `select id from bank_files where state = 'open' and closes_at <= $2 and bank_account = $1
     order by closes_at, id limit $3`,
    [bank_account, now, limit],
  );
}

/** An open file, locked; null if another process closes it, or has done so. */
export async function lockOpenedFile(tx: Transaction, id: string): Promise<DueFile | null> {
  const [row] = await tx.query<DueFile>(
    `select id, bank_account, scheme, window_day::text as window_day,
       execution_date::text as execution_date
     from bank_files where id = $1 and state = 'open' for update skip locked`,
    [id],
  );
  return row ?? null;
}

/** Files of an account that are complete and not yet where the bank takes them, oldest first. */
export function listUnwrittenFiles(
  session: Session,
  bank_account: string,
  limit: number,
): Promise<ClosedFile[]> {
  return session.query(
    `select ${CLOSED_COLUMNS} from bank_files
     where state in ('closed', 'placing') and bank_account = $1
     order by closes_at, id limit $2`,
    [bank_account, limit],
  );
}

/** Other accounts than these that have files which no bank can take. */
export async function listOtherAccounts(
  session: Session,
  known: readonly string[],
  now: Date,
): Promise<string[]> {
  const rows = await session.query<{ bank_account: string }>(
    `select distinct bank_account from bank_files
     where state <> 'written' and closes_at <= $2 and bank_account <> all($1)
     order by bank_account`,
    [known, now],
  );
  return rows.map(({ bank_account }) => bank_account);
}

/** Files whose window closed before a moment, and which the bank cannot take yet. */
export async function countOverdueFiles(session: Session, before: Date): Promise<number> {
  const [row] = await session.query<{ count: number }>(
    `select count(*)::integer as count from bank_files
     where state <> 'written' and closes_at < $1`,
    [before],
  );
  return row!.count;
}
