import type { Session, Transaction } from "../../../../platform/db/database.ts";

/** A line that names a payment which no file here has. */
export type LostLine = {
  bank_account: string;
  entry_key: string;
  part: number;
  number: bigint;
  kind: "booked" | "returned";
  amount: bigint;
  currency: string;
  booked_on: string | null;
  /** Any other than `unmatched`: a person has dealt with it, so nothing follows by itself. */
  state: "unmatched" | "settled" | "treasury";
  named_ids: string[];
  details: Buffer | null;
};

/** Stands for a file that this database does not know: the bank had it. */
export type RecoveredFile = {
  id: string;
  bank_account: string;
  scheme: string;
  window_day: string;
  window_number: number;
  message_id: string;
};

type RecoveredPayment = {
  file: RecoveredFile;
  account_id: string;
  end_to_end_id: string;
  amount: bigint;
  currency: string;
  uetr: string;
  short_id: string | null;
  entry_class: "PPD" | null;
};

/** In the order in which they were read. */
export function lockLinesNaming(tx: Transaction, ids: readonly string[]): Promise<LostLine[]> {
  return tx.query(
    `select bank_account, entry_key, part, number, kind, amount, currency,
       booked_on::text as booked_on, state, named_ids, details
     from bank_lines
     where named_ids && $1::text[] and kind in ('booked', 'returned')
     order by number for update`,
    [ids],
  );
}

/** Whether a bank has booked something of the file with this message id. */
export async function existsLineNaming(session: Session, message_id: string): Promise<boolean> {
  const rows = await session.query(
    `select from bank_lines
     where named_ids && array[$1::text] and kind = 'booked' limit 1`,
    [message_id],
  );
  return rows.length > 0;
}

export async function updateLineAnswered(
  tx: Transaction,
  { bank_account, entry_key, part }: LostLine,
): Promise<void> {
  await tx.query(
    `update bank_lines set state = 'answer', problem = null, named_ids = null, details = null,
       answer_references = array[entry_key || '-' || part]
     where bank_account = $1 and entry_key = $2 and part = $3 and state = 'unmatched'`,
    [bank_account, entry_key, part],
  );
}

async function insertFile(tx: Transaction, file: RecoveredFile, now: Date): Promise<void> {
  await tx.query(
    `insert into bank_files (id, bank_account, scheme, window_day, window_number, closes_at,
       execution_date, state, state_since, message_id, created_at, payments, control_sum,
       temporary_name, digest)
     values ($1, $2, $3, $4, $5, $6, $4, 'written', $6, $7, $6, 1, '0', 'recovered', '')`,
    [
      ...[file.id, file.bank_account, file.scheme, file.window_day, file.window_number, now],
      file.message_id,
    ],
  );
}

export async function insertRecovered(
  tx: Transaction,
  { file, ...payment }: RecoveredPayment,
  now: Date,
): Promise<void> {
  await insertFile(tx, file, now);
  await tx.query(
    `insert into bank_payments (account_id, end_to_end_id, file_id, amount, currency, uetr,
       details, short_id, entry_class)
     values ($1, $2, $3, $4, $5, $6, null, $7, $8)`,
    [
      ...[payment.account_id, payment.end_to_end_id, file.id, payment.amount, payment.currency],
      ...[payment.uetr, payment.short_id, payment.entry_class],
    ],
  );
}

type PaidInFile = {
  account_id: string;
  end_to_end_id: string;
  amount: bigint;
  currency: string;
  number: bigint;
  paid_from_day: string | null;
};

/** The payments of a file that a bank has answered, or that one of its booked lines names. */
export function listPaidInFile(tx: Transaction, file_id: string): Promise<PaidInFile[]> {
  return tx.query(
    `select p.account_id, p.end_to_end_id, p.amount, p.currency, p.number,
       p.paid_from_day::text as paid_from_day
     from bank_payments p
     where p.file_id = $1
       and (exists (select from bank_file_answers a where a.end_to_end_id = p.end_to_end_id)
         or exists (select from bank_lines l where l.kind = 'booked'
           and l.named_ids && array_remove(array[p.end_to_end_id, p.short_id], null)
           and l.booked_on < p.paid_from_day is not true))
     order by p.number`,
    [file_id],
  );
}

/** The payment is in a file that the bank had. */
export async function updateToRecovered(
  tx: Transaction,
  end_to_end_id: string,
  file: RecoveredFile,
  now: Date,
): Promise<void> {
  await insertFile(tx, file, now);
  await tx.query(
    `update bank_payments set file_id = $2, batch_number = null, trace_number = null,
       details = null
     where end_to_end_id = $1`,
    [end_to_end_id, file.id],
  );
}
