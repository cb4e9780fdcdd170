import type { Session, Transaction } from "../../platform/db/database.ts";
import { deleteRow, insertRow } from "../../platform/db/rows.ts";
import { sealedText } from "../../platform/encryption/sealed-column.ts";
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

const COMMENT = sealedText("kyc_review_notes", "comment");
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
  return rows.map((row) => ({ ...row, comment: COMMENT.open(subject_key, row, row.comment) }));
}

export function insertReviewNote(tx: Transaction, note: ReviewNote, subject_key: Buffer): void {
  const comment = COMMENT.seal(subject_key, note, note.comment);
  insertRow(tx, "kyc_review_notes", { ...note, comment });
}

export function deleteNotesOf(tx: Transaction, { account_id, user_id }: UserKey): void {
  deleteRow(tx, "kyc_review_notes", { account_id, user_id });
}
