import type { Session, Transaction } from "../../platform/db/database.ts";
import { accountsOf, deleteRow } from "../../platform/db/rows.ts";

type Key = { account_id: string; id: string };
export type RejectedDocument = { account_id: string; offramp_id: string; hash: Buffer };

/** The rejected files of these offramps. */
export function listRejectedDocuments(
  session: Session,
  offramps: readonly Key[],
): Promise<RejectedDocument[]> {
  const accounts = accountsOf(session, offramps);
  return session.query<RejectedDocument>(
    `select account_id, offramp_id, hash from rejected_documents
     where account_id ${accounts.equal} and offramp_id = any($2::uuid[])`,
    [accounts.value, offramps.map(({ id }) => id)],
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
