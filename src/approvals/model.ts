import type { Actor, Role } from "../accounts/model.ts";
import { may } from "../accounts/roles.ts";

export const PROPOSAL_STATUSES = ["pending", "confirmed", "rejected", "done", "failed"] as const;
/** `confirmed` is agreed upon and not yet carried out; `done` and `failed` are what came of it. */
export type ProposalStatus = (typeof PROPOSAL_STATUSES)[number];

export type Verdict = "confirm" | "reject";

/** Two-person approval: two different members. An API key cannot vote. */
export const CONFIRMATIONS_NEEDED = 2;

export const REASON_LENGTH_MAX = 500;

export type Proposal = {
  account_id: string;
  id: string;
  /** Name of the use case that runs it. */
  kind: string;
  record_id: string;
  /** Cents; null when no rate was at hand. */
  amount_usd: bigint | null;
  /** One sentence without personal data. */
  summary: string;
  proposed_by: Actor;
  proposed_by_person: string | null;
  status: ProposalStatus;
  outcome: string | null;
  /** How many members agree so far; a member who proposed it is one of them. */
  confirmations: number;
  created_at: Date;
  updated_at: Date;
};

export type Vote = { proposal_id: string; person_id: string; verdict: Verdict; created_at: Date };

/** What members look at before they agree: a label and what stands beside it. */
export type Detail = readonly [label: string, value: string];

/** Kept encrypted: the input of the use case, and the details that may be personal. */
export type Content = { input: unknown; details: readonly Detail[] };

export function runProposalKind(kind: string): string {
  return `run-proposal-${kind}`;
}

/** Who voted counts while they are a member who may; whoever proposed, while they are a member. */
export function mayVote(role: Role | undefined): boolean {
  return may(role, "vote");
}
