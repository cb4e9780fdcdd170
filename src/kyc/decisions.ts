import type { KycStatus } from "../users/model.ts";

/** What a reviewer can decide: from which state to which, and what it means for people. */
export const DECISIONS = {
  approve: { from: "awaiting_manual_review", to: "approved", label: "Approve" },
  ask_again: { from: "awaiting_manual_review", to: "retry_required", label: "Ask again" },
  refuse: { from: "awaiting_manual_review", to: "failed", label: "Refuse for good" },
  deny: { from: "retry_required", to: "retry_denied", label: "Allow no further try" },
  suspend: { from: "approved", to: "suspended", label: "Suspend" },
  unsuspend: { from: "suspended", to: "approved", label: "Lift the suspension" },
} as const satisfies Record<string, { from: KycStatus; to: KycStatus; label: string }>;

export type Decision = keyof typeof DECISIONS;

export const DECISION_NAMES = Object.keys(DECISIONS) as Decision[];

export function decisionsFrom(status: KycStatus): Decision[] {
  return DECISION_NAMES.filter((name) => DECISIONS[name].from === status);
}

/** One member alone may stop somebody; everything else needs two where the account asks for it. */
export function needsTwo(decision: Decision): boolean {
  return decision !== "suspend";
}

/** An approval needs no words; whoever is told no, or to try again, must learn why. */
export function needsComment(decision: Decision): boolean {
  return !["approve", "unsuspend"].includes(decision);
}

export const COMMENT_LENGTH_MAX = 500;
