import type { Actor, Role } from "../accounts/model.ts";
import { may, mayReviewKyc } from "../accounts/roles.ts";
import { DAY_MS } from "../platform/durations.ts";
import { digestOf } from "../platform/sealing/seal.ts";

/**
 * The states of a proposal, and those it can move to.
 *
 * | Status      | Meaning                                       | Left by                        |
 * |-------------|-----------------------------------------------|--------------------------------|
 * | `pending`   | waits for two people                          | the second confirmation, the   |
 * |             |                                               | first rejection, a change of   |
 * |             |                                               | what it is about, or 72 hours  |
 * | `confirmed` | two people agreed; a task is about to run it  | the run                        |
 * | `rejected`  | one person rejected it                        |                                |
 * | `void`      | what it was about changed or no longer exists |                                |
 * | `lapsed`    | too few people confirmed it within 72 hours   |                                |
 * | `done`      | it ran                                        |                                |
 * | `failed`    | it was confirmed, and refused when it ran     |                                |
 *
 * A confirmed proposal becomes `void` if what its voters saw has changed when it is about to run.
 * After 72 hours one kind may be confirmed instead: see `votes/unopposed.ts`.
 */
export const PROPOSAL_MOVES = {
  pending: ["confirmed", "rejected", "void", "lapsed"],
  confirmed: ["done", "failed", "void"],
  rejected: [],
  void: [],
  lapsed: [],
  done: [],
  failed: [],
} as const satisfies Record<string, readonly string[]>;

export type ProposalStatus = keyof typeof PROPOSAL_MOVES;
export const PROPOSAL_STATUSES = Object.keys(PROPOSAL_MOVES) as ProposalStatus[];
export const ENDED_STATUSES = PROPOSAL_STATUSES.filter((status) => status !== "pending");

/**
 * Who votes. `members`: two of the account's members. `with_operator`: two members of the account
 * or of the operator, at least one of them the operator's. Both vote on the page Approvals.
 * `reviewers`: those who review the identities of the account's users, on the review page.
 */
export type Voters = "members" | "with_operator" | "reviewers";

export type VoteChoice = "confirm" | "reject";

/** Two different people. An API key cannot vote. */
export const CONFIRMATIONS_NEEDED = 2;

/** A proposal that is not confirmed within this time lapses. */
export const PROPOSAL_LIFE_MS = 3 * DAY_MS;

export function lapsesAt({ created_at }: Pick<Proposal, "created_at">): Date {
  return new Date(created_at.getTime() + PROPOSAL_LIFE_MS);
}

/** Members who join a live account vote after this time. */
export const NEW_MEMBER_WAIT_MS = DAY_MS;

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
  /** The member who proposed it, or who created the API key that did; null when unknown. */
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

export type Vote = {
  voter: Voter;
  verdict: VoteChoice;
  created_at: Date;
  /** Shows that this service recorded it (`vote-mac.ts`). */
  mac: Buffer | null;
};

/** The part of the proposal's account that decides who votes. */
type ProposalAccount = { id: string; kyc_review_by_account: boolean };

/** A label and its value, shown to members before they vote. */
export type Detail = readonly [label: string, value: string];

/** Stored encrypted: the input of the use case, and what members see, which may be personal. */
export type Content = {
  input: unknown;
  details: readonly Detail[];
  /** Why it needs two people, as a sentence. */
  why: string;
  /** Of what the members approve: once it has changed, the proposal is void. Or NOT_DESCRIBED. */
  digest: string;
  /** Why nobody can confirm it yet: what it is about is still incomplete. */
  waits_for?: string | null;
};

/** Instead of a digest, with `waits_for`: a task describes it, and nobody confirms it before. */
export const NOT_DESCRIBED = "";

/** What members see of a proposal, and what they thereby approve. */
export type Description = {
  /** Shown and bound: once one of them has changed, the proposal is void. */
  details: readonly Detail[];
  /** Bound, but not shown: states, versions, hashes. */
  state: readonly (string | number | bigint | null)[];
  /** Shown, but not bound: others may change it without changing what is approved. */
  context?: readonly Detail[];
};

/** The outcome of a void proposal. */
export const CONTENT_CHANGED = "What the members approved has changed since it was proposed.";

export function digestDescription({ details, state }: Description): string {
  return digestOf(...details.flat(), "", ...state).toString("hex");
}

/** The kind of proposals to change who is a member, and with which role. */
export const MEMBER_CHANGES = "change-members";

export const LAPSE_PROPOSAL_TASK = "lapse-proposal";

export function runProposalKind(kind: string): string {
  return `run-proposal-${kind}`;
}

/** Whose members may vote, and in which role; `record-vote.ts` decides how their votes count. */
export function mayVote(voters: Voters, account: ProposalAccount, voter: Voter): boolean {
  if (voters === "reviewers") return mayReviewKyc(voter, account);
  if (!may(voter.role, "vote")) return false;
  return voter.account_id === account.id || (voters === "with_operator" && voter.is_operator);
}

/** Whether a vote of this member is missing. Who asked may agree first, and never decides. */
export function waitsFor(
  proposal: Pick<Proposal, "status" | "voters" | "proposed_by_person" | "confirmations">,
  account: ProposalAccount,
  votes: readonly Pick<Vote, "voter">[],
  member: Voter,
): boolean {
  const { status, voters, proposed_by_person, confirmations } = proposal;
  // Reviewers vote on the page of the review, where they see the data.
  if (status !== "pending" || voters === "reviewers") return false;
  if (!mayVote(voters, account, member)) return false;
  if (votes.some(({ voter }) => voter.person_id === member.person_id)) return false;
  return proposed_by_person !== member.person_id || confirmations === 0;
}

/** Whether this member votes on proposals of other accounts. */
export function votesElsewhere({
  is_operator,
  role,
}: Pick<Voter, "is_operator" | "role">): boolean {
  return is_operator && (may(role, "review_kyc") || may(role, "vote"));
}

/** Whether these votes approve the proposal. */
export function isApproved(
  proposal: Pick<Proposal, "status" | "voters">,
  account: ProposalAccount,
  votes: readonly Pick<Vote, "voter" | "verdict">[],
): boolean {
  const counted = countedVotes(proposal, account, votes);
  if (counted.length < CONFIRMATIONS_NEEDED) return false;
  return proposal.voters !== "with_operator" || counted.some(({ voter }) => voter.is_operator);
}

/**
 * The confirmations that count. While a proposal is pending, a vote counts only as long as its
 * voter may vote, that of the member who proposed it like any other. Once it has ended, all votes
 * count.
 */
export function countedVotes(
  { status, voters }: Pick<Proposal, "status" | "voters">,
  account: ProposalAccount,
  votes: readonly Pick<Vote, "voter" | "verdict">[],
): Pick<Vote, "voter" | "verdict">[] {
  return votes.filter(
    ({ verdict, voter }) =>
      verdict === "confirm" && (status !== "pending" || mayVote(voters, account, voter)),
  );
}
