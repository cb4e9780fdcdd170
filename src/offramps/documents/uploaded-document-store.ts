import type { FileType } from "../../partners/files/judge-file.ts";
import type { Session, Transaction } from "../../platform/db/database.ts";
import { findRow, insertRows, lockRows, type RecordKey } from "../../platform/db/rows.ts";

/** A file uploaded before its offramps. */
export type UploadedDocument = {
  account_id: string;
  id: string;
  user_id: string;
  /** Version of the stored file. */
  file: string;
  hash: Buffer;
  type: FileType;
  created_at: Date;
};

export function findUploadedDocument(
  session: Session,
  { account_id, id }: RecordKey,
): Promise<UploadedDocument | undefined> {
  return findRow(session, "documents", { account_id, id });
}

/** Locked, so that a document is not deleted while an offramp starts to refer to it. */
export function lockUploadedDocuments(
  tx: Session,
  keys: readonly RecordKey[],
): Promise<UploadedDocument[]> {
  return lockRows(tx, "documents", keys);
}

export function insertUploadedDocuments(
  tx: Transaction,
  documents: readonly UploadedDocument[],
): void {
  const columns = `account_id uuid, id uuid, user_id uuid, file text, hash bytea, type text,
    created_at timestamptz`;
  insertRows(tx, "documents", columns, documents);
}

/** Deletes a locked document unless an offramp refers to it; returns whether it did. */
export async function deleteUnusedDocument(
  tx: Session,
  { account_id, id }: RecordKey,
): Promise<boolean> {
  const rows = await tx.query(
    `delete from documents where account_id = $1 and id = $2 and not exists (
       select from offramps where offramps.account_id = $1 and offramps.document_id = $2)
     returning id`,
    [account_id, id],
  );
  return rows.length > 0;
}
