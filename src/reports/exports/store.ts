import type { Session, Transaction } from "../../platform/db/database.ts";
import {
  accountsOf,
  findRow,
  insertRow,
  listRows,
  lockRows,
  type RecordKey,
  updateRow,
} from "../../platform/db/rows.ts";
import type { Page } from "../../platform/http/list.ts";
import type { ExportRecord } from "./model.ts";

export function insertExport(tx: Transaction, record: ExportRecord): void {
  insertRow(tx, "exports", record);
}

export function findExport(session: Session, key: RecordKey): Promise<ExportRecord | undefined> {
  return findRow(session, "exports", key);
}

export function lockExports(tx: Session, keys: readonly RecordKey[]): Promise<ExportRecord[]> {
  return lockRows(tx, "exports", keys);
}

export function listExports(
  session: Session,
  filter: { account_id: string; status?: string | undefined; kind?: string | undefined },
  page: Page,
): Promise<ExportRecord[]> {
  return listRows(session, "exports", filter, page);
}

/** Those with this content, of any account. */
export function listExportsByDigest(session: Session, digest: Buffer): Promise<ExportRecord[]> {
  return session.query("select * from exports where digest = $1 order by id", [digest]);
}

/** For whoever counts an account's exports before another is added. */
export async function lockExportCounts(
  session: Session,
  account_ids: readonly string[],
): Promise<void> {
  await session.query(
    `select pg_advisory_xact_lock(hashtextextended('exports of ' || id, 0))
     from (select id from unnest($1::text[]) as id order by id) as wanted`,
    [account_ids],
  );
}

/** How many exports of these accounts have a file or will have one, and since when. */
export async function countFiles(
  session: Session,
  account_ids: readonly string[],
): Promise<Map<string, { count: number; oldest: Date | null }>> {
  const accounts = accountsOf(session, account_ids);
  const rows = await session.query<{ account_id: string; count: number; oldest: Date }>(
    `select account_id, count(*)::integer as count, min(created_at) as oldest from exports
     where account_id ${accounts.equal} and status in ('pending', 'ready') group by account_id`,
    [accounts.value],
  );
  return new Map(rows.map(({ account_id, ...row }) => [account_id, row]));
}

export function updateExport(
  tx: Transaction,
  { account_id, id }: RecordKey,
  change: Partial<ExportRecord> & { updated_at: Date },
): void {
  updateRow(tx, "exports", { account_id, id }, change);
}
