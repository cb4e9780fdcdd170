import { recordAudit } from "../accounts/audit.ts";
import { findMember } from "../accounts/store.ts";
import type { Clock } from "../platform/clock.ts";
import type { Database, Transaction } from "../platform/db/database.ts";
import { notFound, Refusal } from "../platform/errors.ts";
import { isId } from "../platform/ids.ts";
import { enqueueTasks, taskNow } from "../platform/tasks/tasks.ts";
import {
  CONFIRMATIONS_NEEDED,
  mayVote,
  type Proposal,
  REASON_LENGTH_MAX,
  runProposalKind,
  type Verdict,
} from "./model.ts";
import { insertVotes, listVotes, lockProposal, updateProposal } from "./store.ts";

export type VoteInput = { proposal_id: string; verdict: Verdict; reason: string };

/**
 * One member's word on a proposal. The second confirmation has it carried out, one rejection ends
 * it. The row is locked first: of many votes at once each sees those before it.
 */
export function voteOnProposal(
  { database, clock }: { database: Database; clock: Clock },
  voter: { account_id: string; person_id: string },
  { proposal_id, verdict, reason }: VoteInput,
): Promise<void> {
  const { account_id, person_id } = voter;
  return database.transaction(async (tx) => {
    const proposal = isId(proposal_id) && (await lockProposal(tx, account_id, proposal_id));
    if (!proposal) throw Refusal.of([notFound("proposal_id")]);
    // Asked here, not of the session: a role may have been taken away since the page was opened.
    const member = await findMember(tx, account_id, person_id);
    if (!mayVote(member?.role)) throw mayNotVote();
    const votes = await listVotes(tx, account_id, [proposal.id]);
    const own = votes.find((vote) => vote.person_id === person_id);
    // Sent twice it is one vote, be it after the end.
    if (own?.verdict === verdict) return;
    if (own) throw refuse("You have already voted on this proposal; votes are final.");
    if (proposal.status !== "pending") throw refuse("Voting on this proposal has ended.");
    if (verdict === "reject") checkReason(reason);
    recordVote(tx, proposal, { person_id, verdict, reason }, clock.now());
  });
}

function recordVote(
  tx: Transaction,
  proposal: Proposal,
  vote: { person_id: string; verdict: Verdict; reason: string },
  now: Date,
): void {
  const { account_id, id, kind } = proposal;
  const { person_id, verdict } = vote;
  insertVotes(tx, [{ account_id, proposal_id: id, person_id, verdict, created_at: now }]);
  const reason = verdict === "reject" ? vote.reason : "";
  recordAudit(
    tx,
    {
      account_id,
      actor: `member:${person_id}`,
      action: `proposal.${verdict}`,
      record: `proposal:${id}`,
      reason,
    },
    now,
  );
  const is_agreed = verdict === "confirm" && proposal.confirmations + 1 >= CONFIRMATIONS_NEEDED;
  const status = verdict === "reject" ? "rejected" : is_agreed ? "confirmed" : "pending";
  updateProposal(tx, { account_id, id, status, outcome: reason || null, updated_at: now });
  if (is_agreed) enqueueTasks(tx, [taskNow(runProposalKind(kind), { account_id, id }, now)]);
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

function mayNotVote(): Refusal {
  return new Refusal(
    "insufficient_scope",
    "Only admins, finance managers and approvers can vote on proposals.",
  );
}
