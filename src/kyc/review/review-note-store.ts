import type { Session, Transaction } from "../../platform/db/database.ts";
import { deleteRow, insertRow } from "../../platform/db/rows.ts";
import { sealedText } from "../../platform/encryption/sealed-column.ts";
import type { UserKey } from "../../users/store.ts";
import { PAST_DECISIONS } from "./decisions.ts";

/** A reviewer's comment on a decision. */
type ReviewNote = {
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
const DECISIONS_SHOWN_MAX = 50;

/** What a reviewer did with a user. */
export type PastDecision = { at: Date; actor: string; action: string; comment: string | null };

/** From the audit log, newest first, each with its comment while that is kept. */
export async function listPastDecisions(
  session: Session,
  { account_id, user_id }: UserKey,
  subject_key: Buffer,
): Promise<PastDecision[]> {
  type Row = Omit<PastDecision, "comment"> & { note_id: string; comment: Buffer | null };
  const rows = await session.query<Row>(
    `select entries.at, entries.actor, entries.action, notes.id as note_id, notes.comment
     from audit_entries as entries
     left join kyc_review_notes as notes on notes.account_id = entries.account_id
       and notes.user_id = $2 and notes.created_at = entries.at
       and notes.action = entries.action and entries.actor = 'member:' || notes.person_id
     where entries.account_id = $1 and entries.record = $3 and entries.action = any($4)
     order by entries.id desc limit $5`,
    [account_id, user_id, `user:${user_id}`, [...PAST_DECISIONS.keys()], DECISIONS_SHOWN_MAX],
  );
  return rows.map(({ note_id, comment, ...row }) => ({
    ...row,
    comment: comment && COMMENT.open(subject_key, { account_id, id: note_id }, comment),
  }));
}

export function insertReviewNote(tx: Transaction, note: ReviewNote, subject_key: Buffer): void {
  const comment = COMMENT.seal(subject_key, note, note.comment);
  insertRow(tx, "kyc_review_notes", { ...note, comment });
}

export function deleteNotesOf(tx: Transaction, { account_id, user_id }: UserKey): void {
  deleteRow(tx, "kyc_review_notes", { account_id, user_id });
}
