import type { Session, Transaction } from "../../platform/db/database.ts";
import { deleteRow } from "../../platform/db/rows.ts";
import { BEFORE_PAYOUT } from "../model.ts";
import type { OfframpRow } from "../store.ts";

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

/** An offramp whose document is rejected; `rejected_at` is null when no file was received. */
type RejectedOfframpRow = OfframpRow & { rejected_at: Date | null };

/** Those that this account's members review and whose payout has not begun, newest first. */
export function listRejectedOfframps(
  session: Session,
  { account_id, is_operator }: { account_id: string; is_operator: boolean },
  below_id: string,
  limit: number,
): Promise<RejectedOfframpRow[]> {
  return session.query<RejectedOfframpRow>(
    `select offramps.*, rejected.created_at as rejected_at
     from accounts
     join offramps on offramps.account_id = accounts.id
     left join rejected_documents rejected on rejected.account_id = offramps.account_id
       and rejected.offramp_id = offramps.id and rejected.hash = offramps.document_hash
     where ($5 or (accounts.id = $1 and accounts.document_review_by_account))
       and offramps.id < $2 and offramps.document_status = 'rejected'
       and offramps.status = any($3::text[])
     order by offramps.id desc limit $4`,
    [account_id, below_id, BEFORE_PAYOUT, limit, is_operator],
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
