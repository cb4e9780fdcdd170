import type { Session, Transaction } from "../../../platform/db/database.ts";
import { COUNT_MAX } from "../../../platform/metrics/model.ts";
import type { AccountEntry, PaymentStatus } from "../report.ts";

/** A line of an account of ours that matches nothing, and that nobody has settled. */
export type OpenLine = Pick<
  AccountEntry,
  "entry_key" | "part" | "kind" | "amount" | "currency" | "booked_on"
> & { number: bigint; bank_account: string; problem: string; report: string; details: Buffer };

/** A rejection or return that matches no payment, or does not tell whether it was paid. */
export type OpenStatus = Pick<
  PaymentStatus,
  "level" | "message_id" | "batch_id" | "end_to_end_id" | "amount"
> & {
  number: bigint;
  status: string;
  trace_number: string | null;
  reason_codes: string[];
  problem: string;
  report: string;
};

/** What a payee's bank says is right; details are encrypted with the account's key. */
export type OpenCorrection = {
  number: bigint;
  account_id: string;
  end_to_end_id: string;
  code: string;
  received_at: Date;
  details: Buffer;
};

export function listOpenLines(session: Session, limit: number): Promise<OpenLine[]> {
  return session.query(
    `select l.number, l.bank_account, l.entry_key, l.part, l.kind, l.amount, l.currency,
       l.booked_on::text as booked_on, l.problem, l.details, r.name as report
     from bank_lines l join bank_reports r on r.digest = l.report_digest
     where l.state = 'unmatched' order by l.number limit $1`,
    [limit],
  );
}

export function listOpenStatuses(session: Session, limit: number): Promise<OpenStatus[]> {
  return session.query(
    `select s.number, s.level, s.status, s.message_id, s.batch_id, s.end_to_end_id, s.amount,
       s.trace_number, s.reason_codes, s.problem, r.name as report
     from bank_unmatched_statuses s join bank_reports r on r.digest = s.report_digest
     where s.settled_at is null order by s.number limit $1`,
    [limit],
  );
}

export function listOpenCorrections(session: Session, limit: number): Promise<OpenCorrection[]> {
  return session.query(
    `select number, account_id, end_to_end_id, code, received_at, details
     from bank_corrections where state = 'open' order by number limit $1`,
    [limit],
  );
}

type OpenCounts = { lines: number; statuses: number; corrections: number; returns: number };

/** How much waits for a person; counted up to a limit. */
export async function countOpenItems(session: Session): Promise<OpenCounts> {
  const [row] = await session.query<OpenCounts>(
    `select
       (select count(*)::integer
        from (select from bank_lines where state = 'unmatched' limit $1) as l) as lines,
       (select count(*)::integer
        from (select from bank_unmatched_statuses where settled_at is null limit $1) as s)
         as statuses,
       (select count(*)::integer
        from (select from bank_corrections where state = 'open' limit $1) as c) as corrections,
       (select count(*)::integer
        from (select from bank_returns where state = 'by_hand' limit $1) as r) as returns`,
    [COUNT_MAX],
  );
  return row!;
}

export async function lockOpenLine(session: Session, number: bigint): Promise<OpenLine | null> {
  const [row] = await session.query<OpenLine>(
    `select l.number, l.bank_account, l.entry_key, l.part, l.kind, l.amount, l.currency,
       l.booked_on::text as booked_on, l.problem, l.details, r.name as report
     from bank_lines l join bank_reports r on r.digest = l.report_digest
     where l.number = $1 and l.state = 'unmatched' for update of l`,
    [number],
  );
  return row ?? null;
}

export async function lockOpenStatus(session: Session, number: bigint): Promise<OpenStatus | null> {
  const [row] = await session.query<OpenStatus>(
    `select s.number, s.level, s.status, s.message_id, s.batch_id, s.end_to_end_id, s.amount,
       s.trace_number, s.reason_codes, s.problem, r.name as report
     from bank_unmatched_statuses s join bank_reports r on r.digest = s.report_digest
     where s.number = $1 and s.settled_at is null for update of s`,
    [number],
  );
  return row ?? null;
}

/** A line that was dealt with: as the answer to payments, or in another way. */
export async function updateLineSettled(
  tx: Transaction,
  number: bigint,
  state: "answer" | "settled",
  answer_references: readonly string[],
  now: Date,
): Promise<void> {
  await tx.query(
    `update bank_lines set state = $2, settled_at = $3, answer_references = $4,
       problem = case when $2 = 'answer' then null else problem end,
       details = case when $2 = 'answer' then null else details end
     where number = $1`,
    [number, state, now, answer_references],
  );
}

/** It is read after all that was read before: readers of credits may be past its number. */
export async function updateLineToCredit(
  tx: Transaction,
  number: bigint,
  now: Date,
): Promise<void> {
  await tx.query(
    `update bank_lines set state = 'credit', problem = null, named_ids = null, settled_at = $2,
       number = default, answer_references = array[entry_key || '-' || part]
     where number = $1`,
    [number, now],
  );
}

export async function updateStatusSettled(
  tx: Transaction,
  number: bigint,
  now: Date,
): Promise<void> {
  await tx.query("update bank_unmatched_statuses set settled_at = $2 where number = $1", [
    number,
    now,
  ]);
}

export async function updateCorrectionSettled(
  tx: Transaction,
  number: bigint,
  now: Date,
): Promise<boolean> {
  const rows = await tx.query(
    `update bank_corrections set state = 'settled', settled_at = $2
     where number = $1 and state = 'open' returning number`,
    [number, now],
  );
  return rows.length > 0;
}

type SetAsideFile = { name: string; digest: Buffer; problem: string; since: Date };

/** Why a file of the inbox could not be read. */
export async function upsertSetAside(session: Session, file: SetAsideFile): Promise<void> {
  await session.query(
    `insert into bank_set_aside (name, digest, problem, since) values ($1, $2, $3, $4)
     on conflict (name) do update
       set digest = excluded.digest, problem = excluded.problem, since = excluded.since`,
    [file.name, file.digest, file.problem, file.since],
  );
}

export function listSetAsideReasons(session: Session): Promise<SetAsideFile[]> {
  return session.query("select name, digest, problem, since from bank_set_aside order by name");
}

export async function deleteSetAside(session: Session, name: string): Promise<void> {
  await session.query("delete from bank_set_aside where name = $1", [name]);
}
