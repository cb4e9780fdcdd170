import { endProposal } from "../../approvals/end-proposal.ts";
import { newProposal, recordProposals } from "../../approvals/record-proposals.ts";
import {
  findContents,
  findPendingProposal,
  lockProposal,
  type SealedProposal,
} from "../../approvals/store.ts";
import type { Session, Transaction } from "../../platform/db/database.ts";
import type { Keyring } from "../../platform/encryption/keyring.ts";
import type { UserKey } from "../../users/store.ts";
import { type LockedUser, lockKycUser } from "../move-kyc.ts";
import { type Decision, describeDecision, summaryOfDecision } from "./decisions.ts";
import { digestSeen, readPapers } from "./seen.ts";

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

/** Writers to these proposals lock the user first, or check it again. */
export async function lockProposedDecision(
  tx: Session,
  keyring: Keyring,
  key: UserKey,
): Promise<ProposedDecision | null> {
  const found = await findProposedDecision(tx, keyring, key);
  const proposal = found && (await lockProposal(tx, key.account_id, found.proposal.id));
  return proposal?.status === "pending" ? { ...found!, proposal } : null;
}

/** The outcome of a proposal that became void because of a change. */
export const CHANGED = "The user's data or state has changed.";

/** A proposal applies to what its author saw: once that has changed, nobody can confirm it. */
export async function voidStaleDecision(
  tx: Transaction,
  keyring: Keyring,
  key: UserKey,
  now: Date,
): Promise<void> {
  const locked = await lockKycUser(tx, keyring, key);
  const proposed = locked && (await lockProposedDecision(tx, keyring, key));
  if (!proposed) return;
  const papers = await readPapers(tx, key, locked.subject_key);
  if (proposed.seen === digestSeen(locked, papers)) return;
  const end = { status: "void", outcome: CHANGED, actor: "worker" } as const;
  endProposal(tx, proposed.proposal, end, now);
}

/** `reviewer` counts as the first of the two confirmations. */
export function recordProposedDecision(
  tx: Transaction,
  { user, subject_key }: LockedUser,
  input: Input,
  reviewer: { account_id: string; person_id: string },
  now: Date,
): void {
  const { account_id, id: user_id } = user;
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
  const content = {
    input,
    details: describeDecision(user, input.decision, input.comment),
    why: "Decisions on the identities of this account's users need two reviewers.",
    digest: input.seen,
  };
  const added = { proposal, proposer, content, subject_id: user_id, key: subject_key };
  recordProposals(tx, [added], now);
}
