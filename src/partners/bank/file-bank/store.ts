import type { Session, Transaction } from "../../../platform/db/database.ts";
import { setOf } from "../../../platform/db/rows.ts";
import type { BankAnswer } from "../port.ts";
import { type AnswerFacts, answerMac } from "./answer-mac.ts";
import type { ClosedFile, FileScheme, FileState } from "./model.ts";

/** Details are encrypted: payee and message. */
export type PaymentRow = {
  account_id: string;
  end_to_end_id: string;
  file_id: string;
  amount: bigint;
  currency: string;
  uetr: string;
  /** Of NACHA files: the kind of entry, and our id in it. */
  entry_class: string | null;
  short_id: string | null;
  details: Buffer;
  paid_from_day: string | null;
};

export type PaymentKey = Pick<PaymentRow, "account_id" | "end_to_end_id">;

type OpenFile = {
  id: string;
  bank_account: string;
  scheme: FileScheme;
  window_day: string;
  window_number: number;
  closes_at: Date;
  execution_date: string;
  message_id: string;
};

/**
 * The file of a window, created if it is the first payment's. It is locked: it cannot be closed
 * before this transaction ends.
 */
export async function upsertFile(
  tx: Transaction,
  file: OpenFile,
  now: Date,
): Promise<{ id: string; state: FileState }> {
  const [row] = await tx.query<{ id: string; state: FileState }>(
    `insert into bank_files (id, bank_account, scheme, window_day, window_number, closes_at,
       execution_date, message_id, state, state_since)
     values ($1, $2, $3, $4, $5, $6, $7, $8, 'open', $9)
     on conflict (bank_account, scheme, window_day, window_number)
       do update set state = bank_files.state
     returning id, state`,
    [
      ...[file.id, file.bank_account, file.scheme, file.window_day, file.window_number],
      ...[file.closes_at, file.execution_date, file.message_id, now],
    ],
  );
  return row!;
}

type KnownPayment = PaymentKey & { amount: bigint; currency: string; details: Buffer | null };

/** Those of these ids that the bank has, or will get, or that were refused. */
export function listKnownPayments(
  session: Session,
  end_to_end_ids: readonly string[],
): Promise<KnownPayment[]> {
  return session.query(
    `select account_id, end_to_end_id, amount, currency, details from bank_payments
     where end_to_end_id = any($1)
     union all
     select account_id, end_to_end_id, amount, currency, null from bank_file_answers
     where bank_reference = any(select 'refused-' || id from unnest($1::text[]) as id)`,
    [end_to_end_ids],
  );
}

/** A payment that is in a file already stays there. */
export async function insertPayments(tx: Transaction, rows: readonly PaymentRow[]): Promise<void> {
  const columns = `account_id uuid, end_to_end_id text, file_id uuid, amount bigint, currency text,
    uetr uuid, details bytea, entry_class text, short_id text, paid_from_day date`;
  const set = setOf(tx, "t", columns, rows);
  await tx.query(
    `insert into bank_payments
       (account_id, end_to_end_id, file_id, amount, currency, uetr, details, entry_class, short_id,
       paid_from_day)
     select * from ${set.from}
     on conflict do nothing`,
    set.values,
  );
}

/** A complete file that is not being brought to the bank yet, locked; null if it is. */
export async function lockClosedFile(tx: Transaction, id: string): Promise<DueFile | null> {
  const [row] = await tx.query<DueFile>(
    `select id, bank_account, scheme, window_day::text as window_day,
       execution_date::text as execution_date
     from bank_files where id = $1 and state = 'closed' for update`,
    [id],
  );
  return row ?? null;
}

/** The payments that a file has now, after a number. */
export function listPaymentKeys(
  tx: Transaction,
  file_id: string,
  after: bigint,
  limit: number,
): Promise<(PaymentKey & { number: bigint })[]> {
  return tx.query(
    `select number, account_id, end_to_end_id from bank_payments
     where file_id = $1 and number > $2 order by number limit $3`,
    [file_id, after, limit],
  );
}

/** Puts payments of a file that no bank has seen into another one. */
export async function updateFileOf(
  tx: Transaction,
  file_id: string,
  end_to_end_ids: readonly string[],
  to_file_id: string,
): Promise<void> {
  await tx.query(
    `update bank_payments set file_id = $3, batch_number = null, trace_number = null
     where file_id = $1 and end_to_end_id = any($2)`,
    [file_id, end_to_end_ids, to_file_id],
  );
}

export type DueFile = Pick<
  OpenFile,
  "id" | "bank_account" | "scheme" | "window_day" | "execution_date"
>;

type CurrencySum = { file_id: string; currency: string; count: number; sum: bigint };

/** Number and sum of the payments of files, by currency. */
export function countPayments(session: Session, ids: readonly string[]): Promise<CurrencySum[]> {
  return session.query(
    `select file_id, currency, count(*)::integer as count, sum(amount)::bigint as sum
     from bank_payments where file_id = any($1) group by file_id, currency`,
    [ids],
  );
}

export async function updateToClosed(
  tx: Transaction,
  file: { id: string; payments: number; control_sum: string; execution_date: string },
  now: Date,
): Promise<void> {
  await tx.query(
    `update bank_files set state = 'closed', state_since = $2, created_at = $2, payments = $3,
       control_sum = $4, execution_date = $5, revision = revision + 1
     where id = $1 and state in ('open', 'closed')`,
    [file.id, now, file.payments, file.control_sum, file.execution_date],
  );
}

/** A window in which nothing was paid leaves no file. */
export async function deleteEmptyFile(tx: Transaction, id: string): Promise<void> {
  await tx.query(
    `delete from bank_files where id = $1 and state in ('open', 'closed')
       and not exists (select from bank_payments where file_id = $1)`,
    [id],
  );
}

export type StoredPayment = Omit<
  PaymentRow,
  "file_id" | "details" | "entry_class" | "short_id" | "paid_from_day"
> & {
  number: bigint;
  trace_number: string | null;
  details: Buffer | null;
};

/** The payments of a file, or of one of its batches, after a number, in their order. */
export function listPayments(
  session: Session,
  place: { file_id: string; batch_number: number | null; after: bigint },
  limit: number,
): Promise<StoredPayment[]> {
  return session.query(
    `select number, account_id, end_to_end_id, amount, currency, uetr, trace_number, details
     from bank_payments
     where file_id = $1 and number > $2 and ($4::integer is null or batch_number = $4)
     order by number limit $3`,
    [place.file_id, place.after, limit, place.batch_number],
  );
}

/** Whether this caller's bytes are the file's: the first one decides. */
export async function updateToPlacing(
  session: Session,
  { id, revision }: Pick<ClosedFile, "id" | "revision">,
  placed: { temporary_name: string; digest: Buffer },
  now: Date,
): Promise<boolean> {
  const rows = await session.query(
    `update bank_files set state = 'placing', state_since = $2, temporary_name = $3, digest = $4
     where id = $1 and state = 'closed' and revision = $5 returning id`,
    [id, now, placed.temporary_name, placed.digest, revision],
  );
  return rows.length > 0;
}

export async function existsWrittenFile(session: Session, id: string): Promise<boolean> {
  const rows = await session.query("select from bank_files where id = $1 and state = 'written'", [
    id,
  ]);
  return rows.length > 0;
}

/** The file is the bank's: what is known of the payees is removed in the same statement. */
export async function updateToWritten(session: Session, id: string, now: Date): Promise<void> {
  await session.query(
    `with written as (
       update bank_files set state = 'written', state_since = $2
       where id = $1 and state = 'placing' returning id)
     update bank_payments set details = null where file_id in (select id from written)`,
    [id, now],
  );
}

/**
 * Answers are read by number: each writer waits for the previous one, so that numbers follow the
 * order of commits. An answer with a known reference is the same answer.
 */
export async function insertAnswers(
  tx: Transaction,
  index_key: Buffer,
  answers: readonly BankAnswer[],
): Promise<void> {
  if (answers.length === 0) return;
  const macOf = (answer: BankAnswer) =>
    answerMac(index_key, { ...answer, reason_codes: codesOf(answer) });
  await tx.query("select pg_advisory_xact_lock(hashtextextended('bank file answers', 0))");
  await tx.query(
    `insert into bank_file_answers (account_id, bank_reference, end_to_end_id, kind, amount,
       currency, trace_number, uetr, reason_codes, bank_account, paid_from, mac)
     select account_id, bank_reference, end_to_end_id, kind, amount, currency, trace_number, uetr,
       string_to_array(codes, ','), bank_account, paid_from, mac
     from unnest($1::uuid[], $2::text[], $3::text[], $4::text[], $5::bigint[], $6::text[],
       $7::text[], $8::text[], $9::text[], $10::text[], $11::text[], $12::bytea[])
       with ordinality as answer
       (account_id, bank_reference, end_to_end_id, kind, amount, currency, trace_number, uetr,
       codes, bank_account, paid_from, mac, place)
     order by place
     on conflict do nothing`,
    [
      answers.map((answer) => answer.account_id),
      answers.map((answer) => answer.bank_reference),
      answers.map((answer) => answer.end_to_end_id),
      answers.map((answer) => answer.kind),
      answers.map((answer) => answer.amount),
      answers.map((answer) => answer.currency),
      answers.map((answer) => answer.trace_number),
      answers.map((answer) => answer.uetr),
      answers.map((answer) => codesOf(answer).join(",")),
      answers.map((answer) => answer.bank_account),
      answers.map((answer) => answer.paid_from),
      answers.map(macOf),
    ],
  );
}

/** A bank's own code may contain what separates codes here. */
function codesOf({ reasons }: BankAnswer): string[] {
  return reasons.flatMap(({ code }) => code?.replaceAll(",", " ") || []);
}

export type StoredAnswer = AnswerFacts & { number: bigint; mac: Buffer | null };

export function listAnswers(
  session: Session,
  cursor: string | null,
  limit: number,
): Promise<StoredAnswer[]> {
  return session.query(
    `select number, account_id, bank_reference, end_to_end_id, kind, amount, currency,
       trace_number, uetr, reason_codes, bank_account, paid_from, mac
     from bank_file_answers where number > $1 order by number limit $2`,
    [cursor ?? "0", limit],
  );
}

/** They were passed over: Sliproad did not write them so. */
export async function updateUnproven(session: Session, numbers: readonly bigint[]): Promise<void> {
  await session.query("update bank_file_answers set is_unproven = true where number = any($1)", [
    numbers,
  ]);
}

export async function countUnproven(session: Session): Promise<number> {
  const [row] = await session.query<{ count: number }>(
    "select count(*)::integer as count from bank_file_answers where is_unproven",
  );
  return row!.count;
}
