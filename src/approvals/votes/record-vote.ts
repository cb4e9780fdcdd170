import { recordAudit } from "../../accounts/audit.ts";
import { findMember } from "../../accounts/audited/find-member.ts";
import { isVisible, REASON_LENGTH_MAX } from "../../catalogue/text.ts";
import type { Transaction } from "../../platform/db/database.ts";
import { Refusal } from "../../platform/errors.ts";
import { isApproved, lapsesAt, mayVote, type VoteChoice, type Voter } from "../model.ts";
import { proposalAccount, type SealedProposal, updateProposal } from "../store.ts";
import { authenticVotes } from "./vote-mac.ts";
import { insertVotes, listVotes, lockVoters } from "./vote-store.ts";
import { assertWaited } from "./voters.ts";

/**
 * Records one person's vote on a locked proposal; concurrent votes run one after another. The
 * second confirmation makes it `confirmed`, one rejection ends it. `repeated`: the person gave the
 * same vote before, and it counts once.
 */
export async function recordVote(
  tx: Transaction,
  locked: SealedProposal,
  { account_id, person_id, is_operator }: Pick<Voter, "account_id" | "person_id" | "is_operator">,
  { verdict, reason }: { verdict: VoteChoice; reason: string },
  now: Date,
): Promise<"pending" | "confirmed" | "rejected" | "repeated"> {
  // Read here, not from the session or with the proposal: a role may have changed meanwhile, and
  // must not change before the vote is committed.
  const voters = [{ account_id, person_id }, ...locked.votes.map(({ voter }) => voter)];
  await lockVoters(tx, locked.account_id, voters);
  const votes_now = await listVotes(tx, [locked]);
  const proposal = { ...locked, votes: votes_now.get(locked.id) ?? [] };
  const member = await findMember(tx, account_id, person_id);
  const voter = { account_id, person_id, role: member?.role, is_operator };
  const account = proposalAccount(proposal);
  if (!mayVote(proposal.voters, account, voter)) throw mayNotVote(proposal);
  const authentic = authenticVotes(tx, proposal);
  const own = authentic.find(({ voter }) => voter.person_id === person_id);
  // A repeated vote is one vote, also after the proposal has ended.
  if (own?.verdict === verdict) return "repeated";
  if (own) throw refuse("You have already voted on this proposal; votes are final.");
  if (proposal.status !== "pending") throw refuse("Voting on this proposal has ended.");
  // A forged vote must not decide, and must not be hidden by a second one either.
  if (authentic.length < proposal.votes.length) throw refuse(FORGED_VOTE);
  await assertWaited(tx, member!, now);
  // The task that ends it may be late: then nobody confirms it either.
  if (verdict === "confirm" && now >= lapsesAt(proposal)) throw refuse(LAPSED);
  if (verdict === "reject") checkReason(reason);
  const votes = [...authentic, { voter, verdict }];
  const is_approved = verdict === "confirm" && isApproved(proposal, account, votes);
  if (is_approved && person_id === proposal.proposed_by_person) throw refuse(ANOTHER_MEMBER);
  const vote = { account_id: proposal.account_id, proposal_id: proposal.id, person_id, verdict };
  insertVotes(tx, [{ ...vote, voter_account_id: account_id, created_at: now }]);
  const outcome = { person_id, voter_account_id: account_id, verdict, reason, is_approved };
  return recordOutcome(tx, proposal, outcome, now);
}

function recordOutcome(
  tx: Transaction,
  { account_id, id }: SealedProposal,
  vote: {
    person_id: string;
    voter_account_id: string;
    verdict: VoteChoice;
    reason: string;
    is_approved: boolean;
  },
  now: Date,
): "pending" | "confirmed" | "rejected" {
  const { person_id, verdict } = vote;
  const reason = verdict === "reject" ? vote.reason : "";
  const actor = `member:${person_id}` as const;
  const entry = {
    account_id,
    actor,
    action: `proposal.${verdict}` as const,
    record: `proposal:${id}`,
  };
  const detail = { voter_account_id: vote.voter_account_id };
  recordAudit(tx, { ...entry, reason, detail }, now);
  const status = verdict === "reject" ? "rejected" : vote.is_approved ? "confirmed" : "pending";
  updateProposal(tx, { account_id, id, status, outcome: reason || null, updated_at: now });
  return status;
}

function checkReason(reason: string): void {
  if (!isVisible(reason)) throw refuse("Enter a reason for the rejection.");
  if ([...reason].length > REASON_LENGTH_MAX) {
    throw refuse(`Shorten the reason to at most ${REASON_LENGTH_MAX} characters.`);
  }
}

const LAPSED = "This proposal was not confirmed within 72 hours; it has to be proposed again.";
const FORGED_VOTE =
  "This proposal has a vote that the service did not record. Nothing was saved. Run sliproad " +
  "verify.";
const ANOTHER_MEMBER =
  "You proposed this, or created the API key that did: another member must confirm it last.";

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
