import type { Session, Transaction } from "../../platform/db/database.ts";
import { deleteRow } from "../../platform/db/rows.ts";

type Key = { account_id: string; id: string };
export type RejectedDocument = { account_id: string; offramp_id: string; hash: Buffer };

/** The rejected files of these offramps. */
export function listRejectedDocuments(
  session: Session,
  offramps: readonly Key[],
): Promise<RejectedDocument[]> {
  return session.query<RejectedDocument>(
    `select account_id, offramp_id, hash from rejected_documents
     where account_id = any($1::uuid[]) and offramp_id = any($2::uuid[])`,
    [offramps.map(({ account_id }) => account_id), offramps.map(({ id }) => id)],
  );
}

export function insertRejectedDocument(
  tx: Transaction,
  { account_id, offramp_id, hash }: RejectedDocument,
  now: Date,
): void {
  tx.write(
    `insert into rejected_documents (account_id, offramp_id, hash, created_at)
     values ($1, $2, $3, $4) on conflict do nothing`,
    [account_id, offramp_id, hash, now],
  );
}

export function deleteRejectedDocument(
  tx: Transaction,
  { account_id, offramp_id, hash }: RejectedDocument,
): void {
  deleteRow(tx, "rejected_documents", { account_id, offramp_id, hash });
}
