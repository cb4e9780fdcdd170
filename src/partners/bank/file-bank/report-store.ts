import type { Session, Transaction } from "../../../platform/db/database.ts";
import type { AccountEntry, PaymentStatus } from "../report.ts";
import type { KnownPayment, Matched } from "./match-entry.ts";

const PAYMENT_COLUMNS = `p.account_id, p.end_to_end_id, p.number, p.amount, p.currency,
  p.uetr::text as uetr, p.short_id, p.trace_number, p.batch_number, f.message_id, f.scheme,
  f.bank_account, f.state in ('placing', 'written') as is_at_bank`;

/** Payments with one of these ids: end-to-end ids, our ids and traces of ACH, or UETRs. */
export function listPaymentsById(
  session: Session,
  ids: readonly string[],
  uetrs: readonly string[],
): Promise<KnownPayment[]> {
  return session.query(
    `select ${PAYMENT_COLUMNS} from bank_payments p join bank_files f on f.id = p.file_id
     where p.end_to_end_id = any($1)
     union
     select ${PAYMENT_COLUMNS} from bank_payments p join bank_files f on f.id = p.file_id
     where p.short_id = any($1)
     union
     select ${PAYMENT_COLUMNS} from bank_payments p join bank_files f on f.id = p.file_id
     where p.trace_number = any($1)
     union
     select ${PAYMENT_COLUMNS} from bank_payments p join bank_files f on f.id = p.file_id
     where p.uetr = any($2::uuid[])
     order by number`,
    [ids, uetrs],
  );
}

/** All payments of the files with these message ids. */
export function listPaymentsOfFiles(
  session: Session,
  message_ids: readonly string[],
): Promise<KnownPayment[]> {
  return session.query(
    `select ${PAYMENT_COLUMNS} from bank_files f join bank_payments p on p.file_id = f.id
     where f.message_id = any($1) and f.state <> 'open' order by p.number`,
    [message_ids],
  );
}

/** Whether these bytes are new; another reader of the same ones waits until this one has ended. */
export async function insertReport(
  tx: Transaction,
  report: { digest: Buffer; name: string },
  now: Date,
): Promise<boolean> {
  const rows = await tx.query(
    `insert into bank_reports (digest, name, read_at) values ($1, $2, $3)
     on conflict do nothing returning digest`,
    [report.digest, report.name, now],
  );
  return rows.length > 0;
}

/** Those of these beginnings of digests, in hex, that are of reports which were read. */
export async function listReportDigests(
  session: Session,
  beginnings: readonly string[],
): Promise<Set<string>> {
  const rows = await session.query<{ beginning: string }>(
    `select distinct encode(substring(digest for 8), 'hex') as beginning from bank_reports
     where encode(substring(digest for 8), 'hex') = any($1)`,
    [beginnings],
  );
  return new Set(rows.map((row) => row.beginning));
}

export type StatusRow = Pick<PaymentStatus, "level" | "status" | "message_id" | "batch_id"> &
  Pick<PaymentStatus, "end_to_end_id" | "reasons" | "amount"> & {
    trace_number?: string;
    problem: string;
  };

/** Rejections for a person to look at. */
export async function insertUnmatchedStatuses(
  tx: Transaction,
  digest: Buffer,
  rows: readonly StatusRow[],
): Promise<void> {
  for (const row of rows) {
    await tx.query(
      `insert into bank_unmatched_statuses (report_digest, level, status, message_id, batch_id,
         end_to_end_id, reason_codes, problem, amount, trace_number)
       values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)`,
      [
        ...[digest, row.level, row.status, row.message_id, row.batch_id, row.end_to_end_id],
        ...[row.reasons.flatMap(({ code }) => code ?? []), row.problem],
        ...[row.amount, row.trace_number ?? null],
      ],
    );
  }
}

export type LineRow = Pick<
  AccountEntry,
  "entry_key" | "line_reference" | "part" | "parts" | "kind" | "amount" | "currency" | "booked_on"
> & {
  bank_account: string;
  state: Matched["state"];
  problem: string | null;
  /** Null: nobody needs them, or the legal period is over. */
  details: Buffer | null;
  answer_references: readonly string[];
  /** Of a line without a payment of ours. */
  named_ids: readonly string[];
};

/** Those of these lines that are known, in whatever parts. */
export async function findKnownLines(
  session: Session,
  bank_account: string,
  entry_keys: readonly string[],
): Promise<Set<string>> {
  const rows = await session.query<{ entry_key: string }>(
    `select named.entry_key from unnest($2::text[]) as named (entry_key) where exists (
       select from bank_lines l where l.bank_account = $1 and l.entry_key = named.entry_key)`,
    [bank_account, entry_keys],
  );
  return new Set(rows.map((row) => row.entry_key));
}

/**
 * Lines are read by number, so each writer waits for the previous one: numbers follow the order of
 * commits, and a line that two reports have is written by one of them.
 */
export async function lockLines(tx: Transaction): Promise<void> {
  await tx.query("select pg_advisory_xact_lock(hashtextextended('bank lines', 0))");
}

export async function insertLines(
  tx: Transaction,
  digest: Buffer,
  lines: readonly LineRow[],
): Promise<void> {
  await tx.query(
    `insert into bank_lines (report_digest, bank_account, entry_key, part, parts, kind, amount,
       currency, booked_on, state, problem, details, answer_references, named_ids,
       line_reference)
     select $1, bank_account, entry_key, part, parts, kind, amount, currency, booked_on, state,
       problem, details, array(select jsonb_array_elements_text(answer_references)),
       string_to_array(nullif(named_ids, ''), E'\\n'), line_reference
     from unnest($2::text[], $3::text[], $4::integer[], $5::integer[], $6::text[], $7::bigint[],
       $8::text[], $9::date[], $10::text[], $11::text[], $12::bytea[], $13::jsonb[],
       $14::text[], $15::text[]) as line
       (bank_account, entry_key, part, parts, kind, amount, currency, booked_on, state, problem,
       details, answer_references, named_ids, line_reference)`,
    [
      digest,
      lines.map((line) => line.bank_account),
      lines.map((line) => line.entry_key),
      lines.map((line) => line.part),
      lines.map((line) => line.parts),
      lines.map((line) => line.kind),
      lines.map((line) => line.amount),
      lines.map((line) => line.currency),
      lines.map((line) => line.booked_on),
      lines.map((line) => line.state),
      lines.map((line) => line.problem),
      lines.map((line) => line.details),
      lines.map((line) => JSON.stringify(line.answer_references)),
      lines.map(({ named_ids }) => named_ids.join("\n")),
      lines.map((line) => line.line_reference),
    ],
  );
}

export type CreditRow = Pick<
  LineRow,
  "bank_account" | "entry_key" | "part" | "kind" | "amount" | "currency" | "details"
> & { number: bigint; booked_on: string };

/** Money that was paid in, after a number, in the order in which it was read. */
export function listCreditLines(
  session: Session,
  cursor: string | null,
  limit: number,
): Promise<CreditRow[]> {
  return session.query(
    `select number, bank_account, entry_key, part, kind, amount, currency,
       booked_on::text as booked_on, details
     from bank_lines where state = 'credit' and number > $1 order by number limit $2`,
    [cursor ?? "0", limit],
  );
}

/** Credits that are not as they were written wait for a person. */
export async function updateChangedLines(
  session: Session,
  numbers: readonly bigint[],
): Promise<void> {
  await session.query(
    `update bank_lines set state = 'unmatched', answer_references = '{}',
       problem = 'This line was changed in the database: compare it with the file in done.'
     where number = any($1) and state = 'credit'`,
    [numbers],
  );
}
