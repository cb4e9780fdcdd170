import type { Session, Transaction } from "../../platform/db/database.ts";
import { open, type Place, seal } from "../../platform/encryption/cipher.ts";
import type { UserKey } from "../../users/store.ts";

/** A reviewer's comment on a decision. */
export type ReviewNote = {
  account_id: string;
  id: string;
  user_id: string;
  person_id: string;
  /** As in the audit log, which contains a digest of the comment. */
  action: string;
  comment: string;
  created_at: Date;
};

const KEY_VERSION = 1;
const NOTES_SHOWN_MAX = 50;

/** Newest first. */
export async function listReviewNotes(
  session: Session,
  key: UserKey,
  subject_key: Buffer,
): Promise<ReviewNote[]> {
  const rows = await session.query<Omit<ReviewNote, "comment"> & { comment: Buffer }>(
    `select * from kyc_review_notes where account_id = $1 and user_id = $2
     order by id desc limit $3`,
    [key.account_id, key.user_id, NOTES_SHOWN_MAX],
  );
  return rows.map((row) => ({
    ...row,
    comment: open(subject_key, commentPlace(row), row.comment).toString(),
  }));
}

export function insertReviewNote(tx: Transaction, note: ReviewNote, subject_key: Buffer): void {
  const { account_id, id, user_id, person_id, action, created_at } = note;
  const comment = seal(subject_key, KEY_VERSION, commentPlace(note), Buffer.from(note.comment));
  tx.write(
    `insert into kyc_review_notes
       (account_id, id, user_id, person_id, action, comment, created_at)
     values ($1, $2, $3, $4, $5, $6, $7)`,
    [account_id, id, user_id, person_id, action, comment, created_at],
  );
}

export function deleteNotesOf(tx: Transaction, { account_id, user_id }: UserKey): void {
  tx.write("delete from kyc_review_notes where account_id = $1 and user_id = $2", [
    account_id,
    user_id,
  ]);
}

function commentPlace({ account_id, id }: { account_id: string; id: string }): Place {
  return { account_id, table: "kyc_review_notes", column: "comment", record_id: id };
}
