import { createHash } from "node:crypto";
import { listAuditByRecord } from "../accounts/audit-store.ts";
import { FileMissingError, type FileStore } from "../partners/files/file-store.ts";
import type { Session } from "../platform/db/database.ts";
import { DecryptionError } from "../platform/encryption/cipher.ts";
import type { Keyring } from "../platform/encryption/keyring.ts";
import { openExportFile } from "../reports/exports/export-file.ts";
import type { ExportKind, ExportRecord } from "../reports/exports/model.ts";
import { writeContent } from "../reports/exports/write-content.ts";
import { EXPORT_ACTION, exportDetail } from "../reports/exports/write-exports.ts";
import { eachPage } from "./checks.ts";

/** The records of these never change: their export can be written again, byte by byte. */
const UNCHANGING: readonly ExportKind[] = ["ledger", "audit_log"];

/**
 * The digest of every export is the one in the audit log, that of its file while there is one, and
 * that of the records it was made of where they never change.
 */
export function verifyExports(
  session: Session,
  deps: { keyring: Keyring; files: FileStore },
  account_id: string,
): Promise<string | null> {
  const query = `select * from exports
    where account_id = $1 and id > $2 and status <> 'pending' order by id limit $3`;
  return eachPage<ExportRecord>(session, account_id, query, async (records) => {
    for (const record of records) {
      const wrong =
        (await findAuditFault(session, record)) ??
        (await findFileFault(session, deps, record)) ??
        (await findRecordFault(session, record));
      if (wrong) return `export ${record.id} of account ${account_id}: ${wrong}`;
    }
    return null;
  });
}

async function findAuditFault(session: Session, record: ExportRecord): Promise<string | null> {
  const rows = await listAuditByRecord(session, record.account_id, `export:${record.id}`);
  const details = rows.filter(({ action }) => action === EXPORT_ACTION).map((row) => row.detail);
  // Removed before it was written.
  if (record.digest === null && record.status === "removed" && details.length === 0) return null;
  if (details.length !== 1) return `the audit log has ${details.length} rows about it, not one`;
  const { row_count, digest } = record;
  if (digest === null) return "it has no digest";
  const expected = exportDetail(record, { row_count: row_count!, digest });
  return details[0] === JSON.stringify(expected) ? null : "it differs from the audit log";
}

async function findFileFault(
  session: Session,
  deps: { keyring: Keyring; files: FileStore },
  record: ExportRecord,
): Promise<string | null> {
  if (record.file === null) return null;
  const hash = createHash("sha256");
  try {
    const file = await openExportFile(deps, session, record, record.file);
    for await (const part of file) hash.update(part as Buffer);
  } catch (error) {
    if (error instanceof FileMissingError) return "its file is missing";
    if (error instanceof DecryptionError) return "its file was changed";
    throw error;
  }
  return hash.digest().equals(record.digest!) ? null : "its file has another digest";
}

async function findRecordFault(session: Session, record: ExportRecord): Promise<string | null> {
  if (!UNCHANGING.includes(record.kind) || record.digest === null) return null;
  const { content, summary } = writeContent(session, record.account_id, record);
  for await (const _part of content);
  const { digest } = summary();
  return digest.equals(record.digest) ? null : "the records of its period give another digest";
}
