import type { Session, Transaction } from "../../../../platform/db/database.ts";
import type { StatementEntry, StatementPage } from "./model.ts";

export type StoredPage = StatementPage & {
  number: bigint;
  report_digest: Buffer;
  /** Of the file that had it. */
  file_name: string;
  mac: Buffer;
};

export async function insertStatement(
  tx: Transaction,
  page: StatementPage & Pick<StoredPage, "report_digest" | "mac">,
): Promise<void> {
  const [row] = await tx.query<{ number: bigint }>(
    `insert into bank_statements (report_digest, bank_account, statement_id, sequence, page,
       is_last_page, currency, opening, opened_on, closing, closed_on, entries, mac)
     values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13) returning number`,
    [
      ...[page.report_digest, page.bank_account, page.statement_id, page.sequence, page.page],
      ...[page.is_last_page, page.currency, page.opening, page.opened_on, page.closing],
      ...[page.closed_on, page.entries.length, page.mac],
    ],
  );
  await tx.query(
    `insert into bank_statement_entries (statement_number, place, entry_key, amount, booked_on)
     select $1, line.place - 1, line.entry_key, line.amount, line.booked_on
     from unnest($2::text[], $3::bigint[], $4::date[]) with ordinality
       as line (entry_key, amount, booked_on, place)`,
    [
      row!.number,
      page.entries.map(({ entry_key }) => entry_key),
      page.entries.map(({ amount }) => amount),
      page.entries.map(({ booked_on }) => booked_on),
    ],
  );
}

/** The statements of an account with all their lines, in the order in which they were read. */
export async function listStatements(
  session: Session,
  bank_account: string,
): Promise<StoredPage[]> {
  const pages = await session.query<Omit<StoredPage, "entries">>(
    `select s.number, s.report_digest, r.name as file_name, s.bank_account, s.statement_id,
       s.sequence, s.page, s.is_last_page, s.currency, s.opening, s.opened_on::text as opened_on,
       s.closing, s.closed_on::text as closed_on, s.mac
     from bank_statements s join bank_reports r on r.digest = s.report_digest
     where s.bank_account = $1 order by s.number`,
    [bank_account],
  );
  const entries = await session.query<StatementEntry & { statement_number: bigint }>(
    `select e.statement_number, e.entry_key, e.amount, e.booked_on::text as booked_on
     from bank_statements s join bank_statement_entries e on e.statement_number = s.number
     where s.bank_account = $1 order by e.statement_number, e.place`,
    [bank_account],
  );
  const by_page = Map.groupBy(entries, ({ statement_number }) => statement_number);
  return pages.map((page) => ({
    ...page,
    entries: (by_page.get(page.number) ?? []).map(({ statement_number: _, ...entry }) => entry),
  }));
}

/** The accounts that statements were read of. */
export async function listStatementAccounts(session: Session): Promise<string[]> {
  const rows = await session.query<{ bank_account: string }>(
    "select distinct bank_account from bank_statements order by bank_account",
  );
  return rows.map(({ bank_account }) => bank_account);
}
