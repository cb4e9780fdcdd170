import type { Transaction } from "../../../platform/db/database.ts";
import type { BookedLine } from "./model.ts";

/** A credit that the bank gave a name. */
export type NamedCredit = Pick<BookedLine, "bank_account" | "entry_key" | "booked_on"> & {
  line_reference: string;
};

/** Credits with one of these references of their banks, in the order in which they were read. */
export function listCreditsNamed(
  tx: Transaction,
  lines: readonly Pick<NamedCredit, "bank_account" | "line_reference">[],
): Promise<NamedCredit[]> {
  return tx.query(
    `select l.bank_account, l.line_reference, l.entry_key, l.booked_on::text as booked_on
     from (select distinct * from unnest($1::text[], $2::text[])
       as line (bank_account, line_reference)) as named
     join bank_lines l using (bank_account, line_reference)
     where l.kind in ('incoming', 'returned') order by l.number`,
    [lines.map((line) => line.bank_account), lines.map((line) => line.line_reference)],
  );
}

export type Money = Pick<BookedLine, "bank_account" | "amount" | "currency" | "booked_on">;

/** What banks took back of these amounts, as far as nobody has settled it. */
export function listTakenBack(tx: Transaction, lines: readonly Money[]): Promise<Money[]> {
  return tx.query(
    `select bank_account, amount, currency, booked_on::text as booked_on from bank_lines
     where kind = 'taken_back' and state = 'unmatched' and bank_account = any($1)
       and amount = any($2)`,
    [lines.map((line) => line.bank_account), lines.map((line) => line.amount)],
  );
}

/** Credits of a report wait for a person if a later line of it takes them back. */
export async function updateTakenBack(
  tx: Transaction,
  digest: Buffer,
  taken: readonly Money[],
  problem: string,
): Promise<void> {
  await tx.query(
    `update bank_lines l set state = 'unmatched', answer_references = '{}', problem = $6
     from unnest($2::text[], $3::bigint[], $4::text[], $5::date[])
       as taken (bank_account, amount, currency, booked_on)
     where l.report_digest = $1 and l.state = 'credit' and l.bank_account = taken.bank_account
       and l.amount = taken.amount and l.currency = taken.currency
       and l.booked_on <= coalesce(taken.booked_on, l.booked_on)`,
    [
      digest,
      taken.map((line) => line.bank_account),
      taken.map((line) => line.amount),
      taken.map((line) => line.currency),
      taken.map((line) => line.booked_on),
      problem,
    ],
  );
}

/** Days on which payments of these amounts were to be carried out by ACH. */
export function listAchPayments(
  tx: Transaction,
  amounts: readonly bigint[],
  days: { from: string; to: string },
): Promise<{ amount: bigint; execution_date: string }[]> {
  return tx.query(
    `select distinct p.amount, f.execution_date::text as execution_date
     from bank_payments p join bank_files f on f.id = p.file_id
     where p.short_id is not null and p.amount = any($1) and f.state in ('placing', 'written')
       and f.execution_date between $2::date and $3::date`,
    [amounts, days.from, days.to],
  );
}
