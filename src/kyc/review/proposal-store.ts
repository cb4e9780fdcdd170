import type { Session, Transaction } from "../../platform/db/database.ts";
import { open, type Place, seal } from "../../platform/encryption/cipher.ts";
import type { UserKey } from "../../users/store.ts";
import type { Decision } from "./decisions.ts";

/** A decision that waits for a second member. */
export type Proposal = {
  account_id: string;
  user_id: string;
  decision: Decision;
  comment: string;
  person_id: string;
  /** Of the user when it was made; any move since makes it void. */
  user_sequence: number;
  /** Keyed hash of all that its author saw; whatever changes of it makes it void as well. */
  seen: Buffer;
  created_at: Date;
};

const KEY_VERSION = 1;

export async function findProposal(
  session: Session,
  key: UserKey,
  subject_key: Buffer,
): Promise<Proposal | undefined> {
  const [row] = await session.query<Omit<Proposal, "comment"> & { comment: Buffer }>(
    "select * from kyc_proposals where account_id = $1 and user_id = $2",
    [key.account_id, key.user_id],
  );
  return row && { ...row, comment: open(subject_key, commentPlace(key), row.comment).toString() };
}

/** Takes the place of one that has become void. */
export function updateProposal(tx: Transaction, proposal: Proposal, subject_key: Buffer): void {
  const { account_id, user_id, decision, person_id, user_sequence, seen, created_at } = proposal;
  const comment = seal(
    subject_key,
    KEY_VERSION,
    commentPlace(proposal),
    Buffer.from(proposal.comment),
  );
  tx.write(
    `insert into kyc_proposals
       (account_id, user_id, decision, comment, person_id, user_sequence, seen, created_at)
     values ($1, $2, $3, $4, $5, $6, $7, $8)
     on conflict (account_id, user_id) do update set decision = excluded.decision,
       comment = excluded.comment, person_id = excluded.person_id,
       user_sequence = excluded.user_sequence, seen = excluded.seen,
       created_at = excluded.created_at`,
    [account_id, user_id, decision, comment, person_id, user_sequence, seen, created_at],
  );
}

export function deleteProposal(tx: Transaction, key: UserKey): void {
  tx.write("delete from kyc_proposals where account_id = $1 and user_id = $2", [
    key.account_id,
    key.user_id,
  ]);
}

function commentPlace({ account_id, user_id }: UserKey): Place {
  return { account_id, table: "kyc_proposals", column: "comment", record_id: user_id };
}
