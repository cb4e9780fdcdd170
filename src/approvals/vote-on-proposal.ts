import type { Clock } from "../platform/clock.ts";
import type { Database, Transaction } from "../platform/db/database.ts";
import { notFound, Refusal } from "../platform/errors.ts";
import { isId } from "../platform/ids.ts";
import { enqueueTasks } from "../platform/tasks/tasks.ts";
import { enqueueEnd } from "./end-proposal.ts";
import { runProposalKind, type VoteChoice, type Voter } from "./model.ts";
import { recordVote } from "./record-vote.ts";
import { findAccountOfPending, lockProposal, type SealedProposal } from "./store.ts";

type VoteInput = { proposal_id: string; verdict: VoteChoice; reason: string };

/** A vote from the proposals page; a task runs a proposal that two members confirmed. */
export function voteOnProposal(
  { database, clock }: { database: Database; clock: Clock },
  voter: Pick<Voter, "account_id" | "person_id" | "is_operator">,
  { proposal_id, verdict, reason }: VoteInput,
): Promise<void> {
  return database.transaction(async (tx) => {
    const proposal = isId(proposal_id) && (await lockVisible(tx, voter, proposal_id));
    if (!proposal) throw Refusal.of([notFound("proposal_id")]);
    if (proposal.voters === "reviewers") throw new Refusal("invalid_transition", VOTE_ELSEWHERE);
    const now = clock.now();
    const status = await recordVote(tx, proposal, voter, { verdict, reason }, now);
    if (status === "confirmed") {
      enqueueTasks(tx, runProposalKind(proposal.kind), [proposal], now);
    } else if (status === "rejected") {
      enqueueEnd(tx, proposal, now);
    }
  });
}

/** A proposal of the voter's account, or one that the operator's members vote on. */
async function lockVisible(
  tx: Transaction,
  { account_id, is_operator }: Pick<Voter, "account_id" | "is_operator">,
  id: string,
): Promise<SealedProposal | undefined> {
  const own = await lockProposal(tx, account_id, id);
  if (own || !is_operator) return own;
  const elsewhere = await findAccountOfPending(tx, id);
  return elsewhere === undefined ? undefined : lockProposal(tx, elsewhere, id);
}

const VOTE_ELSEWHERE =
  "Reviewers vote on this proposal on the page of the review, which shows the data.";
