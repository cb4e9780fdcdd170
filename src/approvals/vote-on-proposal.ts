import type { Clock } from "../platform/clock.ts";
import type { Database } from "../platform/db/database.ts";
import { notFound, Refusal } from "../platform/errors.ts";
import { isId } from "../platform/ids.ts";
import { enqueueTasks, taskNow } from "../platform/tasks/tasks.ts";
import { runProposalKind, type VoteChoice, type Voter } from "./model.ts";
import { recordVote } from "./record-vote.ts";
import { lockProposal } from "./store.ts";

type VoteInput = { proposal_id: string; verdict: VoteChoice; reason: string };

/** A vote from the proposals page; a task runs a proposal that two members confirmed. */
export function voteOnProposal(
  { database, clock }: { database: Database; clock: Clock },
  voter: Pick<Voter, "account_id" | "person_id" | "is_operator">,
  { proposal_id, verdict, reason }: VoteInput,
): Promise<void> {
  return database.transaction(async (tx) => {
    const { account_id } = voter;
    const proposal = isId(proposal_id) && (await lockProposal(tx, account_id, proposal_id));
    if (!proposal) throw Refusal.of([notFound("proposal_id")]);
    if (proposal.voters === "reviewers") throw new Refusal("invalid_transition", VOTE_ELSEWHERE);
    const now = clock.now();
    const status = await recordVote(tx, proposal, voter, { verdict, reason }, now);
    if (status === "confirmed") {
      enqueueTasks(tx, [taskNow(runProposalKind(proposal.kind), proposal, now)]);
    }
  });
}

const VOTE_ELSEWHERE =
  "Reviewers vote on this proposal on the page of the review, which shows the data.";
