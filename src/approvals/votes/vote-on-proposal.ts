import type { Clock } from "../../platform/clock.ts";
import type { Database, Transaction } from "../../platform/db/database.ts";
import type { Keyring } from "../../platform/encryption/keyring.ts";
import { notFound, Refusal } from "../../platform/errors.ts";
import { isId } from "../../platform/ids.ts";
import { enqueueTasks } from "../../platform/tasks/tasks.ts";
import { enqueueEnd } from "../end-proposal.ts";
import { MEMBER_CHANGES, runProposalKind, type VoteChoice, type Voter } from "../model.ts";
import { findAccountOfPending, findContents, lockProposal, type SealedProposal } from "../store.ts";
import { recordVote } from "./record-vote.ts";
import { canVote } from "./voters.ts";

type VoteInput = {
  proposal_id: string;
  verdict: VoteChoice;
  reason: string;
  /** The digest of the content that the voter saw. */
  seen: string;
};

type VoteDeps = { database: Database; clock: Clock; keyring: Keyring };

/** A vote from the page Approvals; a task runs a proposal that two members confirmed. */
export function voteOnProposal(
  { database, clock, keyring }: VoteDeps,
  voter: Pick<Voter, "account_id" | "person_id" | "is_operator">,
  { proposal_id, verdict, reason, seen }: VoteInput,
  /** Refuses a session that has ended since; after the lock, as every reader of members here. */
  assertSession: (tx: Transaction, tenant_id?: string) => Promise<unknown>,
): Promise<void> {
  return database.transaction(async (tx) => {
    const proposal = isId(proposal_id) && (await lockVisible(tx, voter, proposal_id));
    await assertSession(tx, proposal ? proposal.account_id : undefined);
    if (!proposal) throw Refusal.of([notFound("proposal_id")]);
    if (proposal.voters === "reviewers") throw new Refusal("invalid_transition", VOTE_ELSEWHERE);
    await assertNotOwn(tx, keyring, proposal, voter.person_id);
    if (verdict === "reject") assertMayReject(proposal, voter);
    const now = clock.now();
    const status = await recordVote(tx, proposal, voter, { verdict, reason }, now);
    // Only somebody who may vote learns this; throwing undoes the vote.
    if (verdict === "confirm") await assertSeen(tx, keyring, proposal, voter.person_id, seen);
    if (status === "confirmed") {
      enqueueTasks(tx, runProposalKind(proposal.kind), [proposal], now);
    } else if (status === "rejected") {
      enqueueEnd(tx, proposal, now);
    }
  });
}

/**
 * Whom a change of members is about does not vote on it, as long as enough others can: one person
 * could keep all others from removing them. Of two voters both are needed, so both vote.
 */
async function assertNotOwn(
  tx: Transaction,
  keyring: Keyring,
  proposal: SealedProposal,
  person_id: string,
): Promise<void> {
  if (proposal.kind !== MEMBER_CHANGES) return;
  const content = (await findContents(tx, keyring, [proposal])).get(proposal.id);
  const { change } = (content?.input ?? {}) as { change?: { person_id?: string } };
  if (change?.person_id !== person_id) return;
  if (await canVote(tx, proposal.account_id, proposal.voters, person_id)) {
    throw new Refusal("invalid_transition", ABOUT_YOU);
  }
}

/**
 * The operator's limits for an account, and what it lets the account review, protect the operator:
 * the account's members may agree to a change, but else one of them could keep the operator from
 * ever lowering a limit. Who is a member stays the account's own decision.
 */
function assertMayReject(
  { kind, voters, proposed_by }: SealedProposal,
  { is_operator }: Pick<Voter, "is_operator">,
): void {
  const is_operators = voters === "with_operator" && proposed_by === "command line";
  if (!is_operators || kind === MEMBER_CHANGES || is_operator) return;
  throw new Refusal("insufficient_scope", OPERATORS);
}

/** Until the first vote the content may change; nobody confirms what they have not seen. */
async function assertSeen(
  tx: Transaction,
  keyring: Keyring,
  proposal: SealedProposal,
  person_id: string,
  seen: string,
): Promise<void> {
  const has_voted = proposal.votes.some(({ voter }) => voter.person_id === person_id);
  if (proposal.status !== "pending" || has_voted) return;
  const content = (await findContents(tx, keyring, [proposal])).get(proposal.id);
  if (content?.digest !== seen) throw new Refusal("invalid_transition", NOT_SEEN);
  if (content.waits_for) {
    throw new Refusal("invalid_transition", `${content.waits_for} Confirm it once it is complete.`);
  }
}

/** A proposal of the voter's account, or one that the operator's members vote on. */
async function lockVisible(
  tx: Transaction,
  { account_id, is_operator }: Pick<Voter, "account_id" | "is_operator">,
  id: string,
): Promise<SealedProposal | undefined> {
  // Asked first, without a lock: the transaction is of the proposal's account alone.
  const elsewhere = is_operator ? await findAccountOfPending(tx, id) : undefined;
  return lockProposal(tx, elsewhere ?? account_id, id);
}

const NOT_SEEN =
  "The proposal has changed since you opened the page. Nothing was saved. Check it again.";
const ABOUT_YOU = "This is about your own membership: the other members decide on it.";
const OPERATORS = "The operator proposed this: only the operator's members can reject it.";
const VOTE_ELSEWHERE =
  "Reviewers vote on this proposal on the page of the review, which shows the data.";
