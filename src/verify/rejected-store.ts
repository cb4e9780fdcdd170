import type { Session, Transaction } from "../platform/db/database.ts";
import { deleteRow, findRow } from "../platform/db/rows.ts";

/** An entry that the sealer set aside because this service did not write it. */
export type RejectedEntry = {
  account_id: string;
  log: string;
  entry_id: string;
  noted_at: Date;
  rejected_at: Date;
};

/** The oldest first. */
export function listRejected(session: Session, limit: number): Promise<RejectedEntry[]> {
  return session.query<RejectedEntry>(
    `select account_id, log, entry_id, noted_at, rejected_at from seal_rejected
     order by rejected_at, entry_id limit $1`,
    [limit],
  );
}

export function lockRejected(tx: Session, entry_id: string): Promise<RejectedEntry | undefined> {
  return findRow(tx, "seal_rejected", { entry_id }, "for update");
}

export function deleteRejected(tx: Transaction, { account_id, log, entry_id }: RejectedEntry) {
  deleteRow(tx, "seal_rejected", { account_id, log, entry_id });
}

/** Whether a block lists the entry. */
export async function existsSealed(
  session: Session,
  { account_id, log, entry_id }: RejectedEntry,
): Promise<boolean> {
  const rows = await session.query(
    `select from seal_blocks where account_id = $1 and log = $2 and $3::uuid = any(entry_ids)
     limit 1`,
    [account_id, log, entry_id],
  );
  return rows.length > 0;
}

/** By log: the tables of an entry, with the column that has its id. */
const TABLES: Readonly<Record<string, readonly [table: string, column: string][]>> = {
  ledger: [
    ["ledger_lines", "entry_id"],
    ["ledger_entries", "id"],
  ],
  events: [["events", "id"]],
  audit: [["audit_entries", "id"]],
};

/** Deletes the entry itself. */
export function deleteEntry(tx: Transaction, { account_id, log, entry_id }: RejectedEntry): void {
  for (const [table, column] of TABLES[log] ?? []) {
    deleteRow(tx, table, { account_id, [column]: entry_id });
  }
}
