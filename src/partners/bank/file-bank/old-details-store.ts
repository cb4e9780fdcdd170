import type { Session } from "../../../platform/db/database.ts";

/**
 * Removes names, accounts and texts of lines that were booked, or settled without a date, before a
 * moment; amounts and references stay. Lines that wait for a person keep theirs. Returns how many.
 */
export async function updateOldDetails(
  session: Session,
  before: Date,
  limit: number,
): Promise<number> {
  const rows = await session.query(
    `update bank_lines set details = null where number in (
       select number from bank_lines
       where details is not null and state <> 'unmatched'
         and (booked_on < ($1::timestamptz at time zone 'UTC')::date
           or booked_on is null and settled_at < $1)
       limit $2)
     returning number`,
    [before, limit],
  );
  return rows.length;
}

/** Deletes corrections of payees' accounts that were settled, and came before a moment. */
export async function deleteOldCorrections(session: Session, before: Date): Promise<void> {
  const old = "state = 'settled' and received_at < $1";
  const owners = await session.query<{ account_id: string }>(
    `select distinct account_id from bank_corrections where ${old}`,
    [before],
  );
  for (const { account_id } of owners) {
    const text = `delete from bank_corrections where account_id = $2 and ${old}`;
    await session.query(text, [before, account_id]);
  }
}
