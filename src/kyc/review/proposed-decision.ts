import { newProposal, recordProposals } from "../../approvals/record-proposals.ts";
import { findContents, findPendingProposal, type SealedProposal } from "../../approvals/store.ts";
import type { Session, Transaction } from "../../platform/db/database.ts";
import type { Keyring } from "../../platform/encryption/keyring.ts";
import type { UserKey } from "../../users/store.ts";
import { type Decision, summaryOfDecision } from "./decisions.ts";

/** The proposal kind of decisions on a user's identity. */
export const DECIDE_KYC = "decide-kyc";

/** The content of a proposal, encrypted with the user's key. */
type Input = {
  decision: Decision;
  comment: string;
  /** Keyed hash of everything its author saw; the proposal is void once any of it changes. */
  seen: string;
};

export type ProposedDecision = Input & { proposal: SealedProposal };

/** The decision on a user that waits for a second reviewer. */
export async function findProposedDecision(
  session: Session,
  keyring: Keyring,
  { account_id, user_id }: UserKey,
): Promise<ProposedDecision | null> {
  const key = { account_id, kind: DECIDE_KYC, record_id: user_id };
  const proposal = await findPendingProposal(session, key);
  if (!proposal) return null;
  const content = (await findContents(session, keyring, [proposal])).get(proposal.id);
  return content ? { ...(content.input as Input), proposal } : null;
}

/** `reviewer` counts as the first of the two confirmations. */
export function recordProposedDecision(
  tx: Transaction,
  { account_id, user_id }: UserKey,
  input: Input,
  reviewer: { account_id: string; person_id: string },
  subject_key: Buffer,
  now: Date,
): void {
  const proposed = {
    account_id,
    kind: DECIDE_KYC,
    record_id: user_id,
    amount_usd: null,
    summary: summaryOfDecision(input.decision),
    voters: "reviewers" as const,
  };
  const { person_id } = reviewer;
  const proposer = { account_id: reviewer.account_id, person_id };
  const proposal = newProposal(proposed, `member:${person_id}`, proposer, now);
  // The review page shows the data; the proposal itself shows nothing personal.
  const content = { input, details: [] };
  recordProposals(
    tx,
    [{ proposal, proposer, content, subject_id: user_id, key: subject_key }],
    now,
  );
}
