import type { Detail } from "../../approvals/model.ts";
import { type Kyc, type KycStatus, nameOfUser, type User } from "../../users/model.ts";
import type { SwiftClearance, SwiftCurrency } from "../model.ts";

/** The decisions of a reviewer: from which state, to which state, and the label. */
export const DECISIONS = {
  approve: { from: "awaiting_manual_review", to: "approved", label: "Approve" },
  ask_again: { from: "awaiting_manual_review", to: "retry_required", label: "Request a retry" },
  refuse: { from: "awaiting_manual_review", to: "failed", label: "Reject permanently" },
  deny: { from: "retry_required", to: "retry_denied", label: "Deny further retries" },
  suspend: { from: "approved", to: "suspended", label: "Suspend" },
  unsuspend: { from: "suspended", to: "approved", label: "Lift the suspension" },
} as const satisfies Record<string, { from: KycStatus; to: KycStatus; label: string }>;

/** For approved users: which swift clearance is granted or withdrawn. */
export const SWIFT_DECISIONS = {
  grant_usd_swift: { currency: "usd", to: "approved", label: "Approve for swift, except in eur" },
  withdraw_usd_swift: { currency: "usd", to: "suspended", label: "Withdraw swift, except in eur" },
  grant_eur_swift: { currency: "eur", to: "approved", label: "Approve for swift in eur" },
  withdraw_eur_swift: { currency: "eur", to: "suspended", label: "Withdraw swift in eur" },
} as const satisfies Record<
  string,
  { currency: SwiftCurrency; to: "approved" | "suspended"; label: string }
>;

type Judgement = keyof typeof DECISIONS;
type SwiftDecision = keyof typeof SWIFT_DECISIONS;
export type Decision = Judgement | SwiftDecision;

const JUDGEMENTS = Object.keys(DECISIONS) as Judgement[];
const OF_SWIFT = Object.keys(SWIFT_DECISIONS) as SwiftDecision[];
export const DECISION_NAMES: readonly Decision[] = [...JUDGEMENTS, ...OF_SWIFT];

/**
 * The decisions possible now. Where approval includes swift, only a user approved under the other
 * setting can still lack it, and can be granted it here.
 */
export function decisionsFor(kyc: Kyc, swift_clearance: SwiftClearance): Decision[] {
  const { status } = kyc.general;
  const judgements = JUDGEMENTS.filter((name) => DECISIONS[name].from === status);
  if (status !== "approved") return judgements;
  const of_swift = OF_SWIFT.filter((name) => {
    const { currency, to } = SWIFT_DECISIONS[name];
    const is_cleared = kyc[currency].swift_status === "approved";
    return to === "approved" ? !is_cleared : is_cleared && swift_clearance === "separate";
  });
  return [...judgements, ...of_swift];
}

export function isSwiftDecision(decision: Decision): decision is SwiftDecision {
  return decision in SWIFT_DECISIONS;
}

export function labelOfDecision(decision: Decision): string {
  return { ...DECISIONS, ...SWIFT_DECISIONS }[decision].label;
}

/** What reviewers did, by its name in the audit log. */
export const PAST_DECISIONS: ReadonlyMap<string, string> = new Map([
  ["kyc.send_back", "Did not confirm the proposal"],
  ...DECISION_NAMES.flatMap((name) => {
    const label = labelOfDecision(name);
    return [
      [`kyc.${name}`, label],
      [`kyc.propose_${name}`, `Proposed: ${label}`],
      [`kyc.confirm_${name}`, `Confirmed: ${label}`],
    ] as const;
  }),
]);

/** The summary of the proposal. */
export function summaryOfDecision(decision: Decision): string {
  return `Identity review: ${labelOfDecision(decision)}.`;
}

/** What the proposal shows; the review page shows the data. */
export function describeDecision(user: User, decision: Decision, comment: string): Detail[] {
  const status = isSwiftDecision(decision)
    ? {
        from: user.kyc[SWIFT_DECISIONS[decision].currency].swift_status,
        to: SWIFT_DECISIONS[decision].to,
      }
    : DECISIONS[decision];
  const [from, to] = [status.from, status.to].map((name) => name.replaceAll("_", " "));
  return [
    ["User", nameOfUser(user)],
    ["Decision", labelOfDecision(decision)],
    ["Status", `${from} → ${to}`],
    // The account and the user read this comment afterwards; others are for reviewers only.
    ...(needsComment(decision) ? [["Comment", comment] as const] : []),
  ];
}

/** One member alone may stop a user; other decisions need two where the account requires it. */
export function needsTwo(decision: Decision): boolean {
  return !["suspend", "withdraw_usd_swift", "withdraw_eur_swift"].includes(decision);
}

/** A refusal or a retry must tell the user why; granting needs no comment. */
export function needsComment(decision: Decision): boolean {
  return !["approve", "unsuspend", "grant_usd_swift", "grant_eur_swift"].includes(decision);
}

export const COMMENT_LENGTH_MAX = 500;
