import type { FileType } from "../../partners/files/judge-file.ts";
import type { Session, Transaction } from "../../platform/db/database.ts";

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

type Key = { account_id: string; id: string };

export async function findUploadedDocument(
  session: Session,
  { account_id, id }: Key,
): Promise<UploadedDocument | undefined> {
  const [row] = await session.query<UploadedDocument>(
    "select * from documents where account_id = $1 and id = $2",
    [account_id, id],
  );
  return row;
}

/** Locked, so that a document is not deleted while an offramp starts to refer to it. */
export function lockUploadedDocuments(
  tx: Session,
  keys: readonly Key[],
): Promise<UploadedDocument[]> {
  return tx.query<UploadedDocument>(
    `select documents.* from documents
     join (select distinct * from unnest($1::uuid[], $2::uuid[])) as wanted (account_id, id)
       using (account_id, id)
     order by account_id, id for no key update of documents`,
    [keys.map((key) => key.account_id), keys.map((key) => key.id)],
  );
}

export function insertUploadedDocuments(
  tx: Transaction,
  documents: readonly UploadedDocument[],
): void {
  tx.write(
    `insert into documents (account_id, id, user_id, file, hash, type, created_at)
     select * from unnest($1::uuid[], $2::uuid[], $3::uuid[], $4::text[], $5::bytea[], $6::text[],
       $7::timestamptz[])`,
    [
      documents.map((document) => document.account_id),
      documents.map((document) => document.id),
      documents.map((document) => document.user_id),
      documents.map((document) => document.file),
      documents.map((document) => document.hash),
      documents.map((document) => document.type),
      documents.map((document) => document.created_at),
    ],
  );
}

/** Deletes a locked document unless an offramp refers to it; returns whether it did. */
export async function deleteUnusedDocument(tx: Session, { account_id, id }: Key): Promise<boolean> {
  const rows = await tx.query(
    `delete from documents where account_id = $1 and id = $2 and not exists (
       select from offramps where offramps.account_id = $1 and offramps.document_id = $2)
     returning id`,
    [account_id, id],
  );
  return rows.length > 0;
}
