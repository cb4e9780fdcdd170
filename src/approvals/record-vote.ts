import { recordAudit } from "../accounts/audit.ts";
import { findMember } from "../accounts/store.ts";
import type { Transaction } from "../platform/db/database.ts";
import { Refusal } from "../platform/errors.ts";
import {
  CONFIRMATIONS_NEEDED,
  mayVote,
  REASON_LENGTH_MAX,
  type VoteChoice,
  type Voter,
} from "./model.ts";
import { type SealedProposal, updateProposal } from "./store.ts";
import { insertVotes } from "./vote-store.ts";

/**
 * Records one person's vote on a locked proposal; concurrent votes run one after another. The
 * second confirmation makes it `confirmed`, one rejection ends it. `repeated`: the person gave the
 * same vote before, and it counts once.
 */
export async function recordVote(
  tx: Transaction,
  proposal: SealedProposal,
  { account_id, person_id, is_operator }: Pick<Voter, "account_id" | "person_id" | "is_operator">,
  { verdict, reason }: { verdict: VoteChoice; reason: string },
  now: Date,
): Promise<"pending" | "confirmed" | "rejected" | "repeated"> {
  // Read here, not from the session: the role may have changed since the page was opened.
  const role = (await findMember(tx, account_id, person_id))?.role;
  const account = {
    id: proposal.account_id,
    kyc_review_by_account: proposal.kyc_review_by_account,
  };
  if (!mayVote(proposal.voters, account, { account_id, person_id, role, is_operator })) {
    throw mayNotVote(proposal);
  }
  const own = proposal.votes.find(({ voter }) => voter.person_id === person_id);
  // A repeated vote is one vote, also after the proposal has ended.
  if (own?.verdict === verdict) return "repeated";
  if (own) throw refuse("You have already voted on this proposal; votes are final.");
  if (proposal.status !== "pending") throw refuse("Voting on this proposal has ended.");
  if (verdict === "reject") checkReason(reason);
  const vote = { account_id: proposal.account_id, proposal_id: proposal.id, person_id, verdict };
  insertVotes(tx, [{ ...vote, voter_account_id: account_id, created_at: now }]);
  return recordOutcome(tx, proposal, { person_id, verdict, reason }, now);
}

function recordOutcome(
  tx: Transaction,
  { account_id, id, confirmations }: SealedProposal,
  vote: { person_id: string; verdict: VoteChoice; reason: string },
  now: Date,
): "pending" | "confirmed" | "rejected" {
  const { person_id, verdict } = vote;
  const reason = verdict === "reject" ? vote.reason : "";
  const actor = `member:${person_id}` as const;
  const entry = { account_id, actor, action: `proposal.${verdict}`, record: `proposal:${id}` };
  recordAudit(tx, { ...entry, reason }, now);
  const is_agreed = verdict === "confirm" && confirmations + 1 >= CONFIRMATIONS_NEEDED;
  const status = verdict === "reject" ? "rejected" : is_agreed ? "confirmed" : "pending";
  updateProposal(tx, { account_id, id, status, outcome: reason || null, updated_at: now });
  return status;
}

function checkReason(reason: string): void {
  if (reason === "") throw refuse("Enter a reason for the rejection.");
  if ([...reason].length > REASON_LENGTH_MAX) {
    throw refuse(`Shorten the reason to at most ${REASON_LENGTH_MAX} characters.`);
  }
}

function refuse(message: string): Refusal {
  return new Refusal("invalid_transition", message);
}

function mayNotVote({ voters }: SealedProposal): Refusal {
  const message =
    voters === "reviewers"
      ? "Only the reviewers of this user's identity can vote on this proposal."
      : "Only admins, finance managers and approvers can vote on proposals.";
  return new Refusal("insufficient_scope", message);
}
