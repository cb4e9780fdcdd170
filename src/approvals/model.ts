import type { Actor, Role } from "../accounts/model.ts";
import { may, mayReviewKyc } from "../accounts/roles.ts";

/**
 * The states of a proposal, and those it can move to.
 *
 * | Status      | Meaning                                       | Left by                        |
 * |-------------|-----------------------------------------------|--------------------------------|
 * | `pending`   | waits for two people                          | the second confirmation, the   |
 * |             |                                               | first rejection, or a change   |
 * |             |                                               | of what it is about            |
 * | `confirmed` | two people agreed; a task is about to run it  | the run                        |
 * | `rejected`  | one person rejected it                        |                                |
 * | `void`      | what it was about changed or no longer exists |                                |
 * | `done`      | it ran                                        |                                |
 * | `failed`    | it was confirmed, and refused when it ran     |                                |
 */
export const PROPOSAL_MOVES = {
  pending: ["confirmed", "rejected", "void"],
  confirmed: ["done", "failed"],
  rejected: [],
  void: [],
  done: [],
  failed: [],
} as const satisfies Record<string, readonly string[]>;

export type ProposalStatus = keyof typeof PROPOSAL_MOVES;
export const PROPOSAL_STATUSES = Object.keys(PROPOSAL_MOVES) as ProposalStatus[];
export const ENDED_STATUSES = PROPOSAL_STATUSES.filter((status) => status !== "pending");

/**
 * Who votes. `members`: the account's members, on the proposals page. `reviewers`: those who review
 * the identities of the account's users, on the review page.
 */
type Voters = "members" | "reviewers";

export type VoteChoice = "confirm" | "reject";

/** Two different people. An API key cannot vote. */
export const CONFIRMATIONS_NEEDED = 2;

export const REASON_LENGTH_MAX = 500;

export type Proposal = {
  account_id: string;
  id: string;
  /** Name of the use case that runs it. */
  kind: string;
  record_id: string;
  /** Cents; null when no rate was available, or when it moves no money. */
  amount_usd: bigint | null;
  /** One sentence without personal data. */
  summary: string;
  proposed_by: Actor;
  /** Null when an API key or the command line proposed it. */
  proposed_by_person: string | null;
  voters: Voters;
  status: ProposalStatus;
  /** Why it was rejected, is void or failed. */
  outcome: string | null;
  /** People who agree so far, including the member who proposed it. */
  confirmations: number;
  created_at: Date;
  updated_at: Date;
};

/** A voter, in the account they are a member of. */
export type Voter = {
  account_id: string;
  person_id: string;
  /** Undefined when they are no longer a member. */
  role: Role | undefined;
  is_operator: boolean;
};

export type Vote = { voter: Voter; verdict: VoteChoice; created_at: Date };

/** The part of the proposal's account that decides who votes. */
type ProposalAccount = { id: string; kyc_review_by_account: boolean };

/** A label and its value, shown to members before they vote. */
export type Detail = readonly [label: string, value: string];

/** Stored encrypted: the input of the use case, and the details that may be personal. */
export type Content = { input: unknown; details: readonly Detail[] };

export function runProposalKind(kind: string): string {
  return `run-proposal-${kind}`;
}

/** Decides who may vote on a proposal; no other place does. */
export function mayVote(voters: Voters, account: ProposalAccount, voter: Voter): boolean {
  return voters === "reviewers"
    ? mayReviewKyc(voter, account)
    : voter.account_id === account.id && may(voter.role, "vote");
}

/** Whether this member votes on the reviews of all accounts. */
export function seesReviews({ is_operator, role }: Pick<Voter, "is_operator" | "role">): boolean {
  return is_operator && may(role, "review_kyc");
}

/**
 * While a proposal is pending, a vote counts only as long as its voter may vote. The member who
 * proposed it counts with any role, since every role may propose. Once it has ended, all votes
 * count.
 */
export function countConfirmations(
  {
    status,
    voters,
    proposed_by_person,
  }: Pick<Proposal, "status" | "voters" | "proposed_by_person">,
  account: ProposalAccount,
  votes: readonly Vote[],
): number {
  return votes.filter(({ verdict, voter }) => {
    if (verdict !== "confirm") return false;
    if (status !== "pending" || mayVote(voters, account, voter)) return true;
    const is_proposer = voter.person_id === proposed_by_person;
    return voters === "members" && is_proposer && voter.role !== undefined;
  }).length;
}
