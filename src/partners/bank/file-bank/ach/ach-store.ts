import type { Session, Transaction } from "../../../../platform/db/database.ts";
import type { AchBatch } from "../../nacha/ach-file.ts";

/** A batch of a NACHA file, fixed when the file closes. */
export type BatchRow = {
  number: number;
  entry_class: AchBatch["entry_class"];
  /** The trace of the debit that balances the batch; null if there is none. */
  offset_sequence: number | null;
  payments: number;
  amount: bigint;
};

/**
 * The last trace number that an originating bank's entries have, locked: numbers are given out one
 * file after the other.
 */
export async function lockTraces(tx: Transaction, originating_bank: string): Promise<number> {
  await tx.query(
    `insert into bank_traces (originating_bank, last_sequence) values ($1, 0)
     on conflict do nothing`,
    [originating_bank],
  );
  const [row] = await tx.query<{ last_sequence: number }>(
    "select last_sequence from bank_traces where originating_bank = $1 for update",
    [originating_bank],
  );
  return row!.last_sequence;
}

export async function updateTraces(
  tx: Transaction,
  originating_bank: string,
  last_sequence: number,
): Promise<void> {
  await tx.query("update bank_traces set last_sequence = $2 where originating_bank = $1", [
    originating_bank,
    last_sequence,
  ]);
}

export type UnnumberedPayment = { number: bigint; end_to_end_id: string; amount: bigint };

/** The payments of one kind in a file after a number, in their order. */
export function listUnnumbered(
  tx: Transaction,
  place: { file_id: string; entry_class: AchBatch["entry_class"]; after: bigint },
  limit: number,
): Promise<UnnumberedPayment[]> {
  return tx.query(
    `select number, end_to_end_id, amount from bank_payments
     where file_id = $1 and entry_class = $2 and number > $3 order by number limit $4`,
    [place.file_id, place.entry_class, place.after, limit],
  );
}

export async function updateTraceNumbers(
  tx: Transaction,
  rows: readonly { end_to_end_id: string; batch_number: number; trace_number: string }[],
): Promise<void> {
  await tx.query(
    `update bank_payments p set batch_number = new.batch_number, trace_number = new.trace_number
     from unnest($1::text[], $2::integer[], $3::text[])
       as new (end_to_end_id, batch_number, trace_number)
     where p.end_to_end_id = new.end_to_end_id`,
    [
      rows.map((row) => row.end_to_end_id),
      rows.map((row) => row.batch_number),
      rows.map((row) => row.trace_number),
    ],
  );
}

/** Replaces those of an earlier closing, which nobody saw. */
export async function upsertBatches(
  tx: Transaction,
  file_id: string,
  batches: readonly BatchRow[],
): Promise<void> {
  await tx.query("delete from bank_ach_batches where file_id = $1", [file_id]);
  await tx.query(
    `insert into bank_ach_batches (file_id, number, entry_class, offset_sequence, payments, amount)
     select $1, batch.* from unnest($2::integer[], $3::text[], $4::integer[], $5::integer[],
       $6::bigint[]) as batch`,
    [
      file_id,
      batches.map((batch) => batch.number),
      batches.map((batch) => batch.entry_class),
      batches.map((batch) => batch.offset_sequence),
      batches.map((batch) => batch.payments),
      batches.map((batch) => batch.amount),
    ],
  );
}

export function listBatches(session: Session, file_id: string): Promise<BatchRow[]> {
  return session.query(
    `select number, entry_class, offset_sequence, payments, amount from bank_ach_batches
     where file_id = $1 order by number`,
    [file_id],
  );
}

/** The modifiers of other NACHA files of these accounts that were closed from a moment on. */
export async function listModifiers(
  tx: Transaction,
  file_id: string,
  bank_accounts: readonly string[],
  from: Date,
): Promise<Set<string>> {
  const rows = await tx.query<{ modifier: string }>(
    `select modifier from bank_files
     where id <> $1 and bank_account = any($2) and scheme = 'ach' and created_at >= $3
       and modifier is not null`,
    [file_id, bank_accounts, from],
  );
  return new Set(rows.map((row) => row.modifier));
}

export async function updateModifier(
  tx: Transaction,
  file_id: string,
  modifier: string,
): Promise<void> {
  await tx.query("update bank_files set modifier = $2 where id = $1", [file_id, modifier]);
}

export type Correction = {
  account_id: string;
  end_to_end_id: string;
  code: string;
  /** Encrypted. */
  details: Buffer;
};

/** Suggestions of payees' banks; one that was made before stays as it is. */
export async function insertCorrections(
  tx: Transaction,
  report_digest: Buffer,
  corrections: readonly Correction[],
  now: Date,
): Promise<void> {
  if (corrections.length === 0) return;
  await tx.query(
    `insert into bank_corrections
       (report_digest, received_at, state, account_id, end_to_end_id, code, details)
     select $1, $2, 'open', correction.* from unnest($3::uuid[], $4::text[], $5::text[],
       $6::bytea[]) as correction
     on conflict do nothing`,
    [
      report_digest,
      now,
      corrections.map((one) => one.account_id),
      corrections.map((one) => one.end_to_end_id),
      corrections.map((one) => one.code),
      corrections.map((one) => one.details),
    ],
  );
}

/** A NACHA file or a batch of one that the bank can have booked as one sum. */
export type BookableSum = {
  message_id: string;
  /** Null: the whole file. */
  batch_number: number | null;
  amount: bigint;
  /** YYYY-MM-DD */
  execution_date: string;
};

/** Written NACHA files and their batches with one of these sums, none of it booked yet. */
export function listBookableSums(
  tx: Transaction,
  bank_account: string,
  amounts: readonly bigint[],
  days: { from: string; to: string },
): Promise<BookableSum[]> {
  return tx.query(
    `with unbooked as (
       select f.id, f.message_id, f.execution_date::text as execution_date from bank_files f
       where f.bank_account = $1 and f.scheme = 'ach' and f.state = 'written'
         and f.execution_date between $3::date and $4::date),
     batches as (
       select f.id, f.message_id, f.execution_date, b.number, b.amount from unbooked f
         join bank_ach_batches b on b.file_id = f.id
       where not exists (
         select from bank_payments p join bank_file_answers a
           on a.account_id = p.account_id and a.end_to_end_id = p.end_to_end_id
             and a.kind = 'booked'
         where p.file_id = f.id and p.batch_number = b.number)),
     files as (
       select message_id, execution_date, sum(amount)::bigint as amount from batches b
       group by id, message_id, execution_date
       having count(*) > 1 and count(*) = (
         select count(*) from bank_ach_batches every where every.file_id = b.id))
     select message_id, null::integer as batch_number, amount, execution_date from files
     where amount = any($2)
     union all
     select message_id, number as batch_number, amount, execution_date from batches
     where amount = any($2)`,
    [bank_account, amounts, days.from, days.to],
  );
}
