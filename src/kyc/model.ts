import { DAY_MS } from "../platform/durations.ts";
import type { Kyc, KycStatus } from "../users/model.ts";

/** Legal status moves of a user's verification. */
export const KYC_MOVES: Readonly<Record<KycStatus, readonly KycStatus[]>> = {
  not_started: ["initiated"],
  initiated: ["pending_assessment"],
  pending_assessment: ["prechecks_completed"],
  prechecks_completed: ["application_queued"],
  application_queued: ["approved", "awaiting_manual_review", "retry_required", "failed"],
  awaiting_manual_review: ["approved", "retry_required", "failed"],
  retry_required: ["initiated", "retry_denied"],
  retry_denied: [],
  approved: ["suspended"],
  suspended: ["approved"],
  failed: [],
};

/** The states in which data can be changed; in every other state there is no draft. */
export const EDITABLE: readonly KycStatus[] = ["not_started", "initiated", "retry_required"];

/** A decision was made: the retention period of its documents begins. */
export const DECIDED: readonly KycStatus[] = [
  "approved",
  "failed",
  "retry_required",
  "retry_denied",
];

export const LINK_LIFE_MS = DAY_MS;
export const BIRTH_DATE_TRIES_MAX = 5;
/** The number of browsers that can open one link. */
export const VISITS_MAX = 60;
export const ADULT_YEARS = 18;
export const FILE_BYTES_MAX = 10 * 1024 * 1024;

/** Whether approval also clears for swift, or a reviewer does that separately. */
export type SwiftClearance = "with_approval" | "separate";

/** Swift in eur has its own clearance; the one for usd covers every other currency. */
export const SWIFT_CURRENCIES = ["usd", "eur"] as const;
export type SwiftCurrency = (typeof SWIFT_CURRENCIES)[number];

/**
 * The status map after a move. Clearances follow the general status and are lost with it; with
 * separate clearance, approval leaves swift unchanged.
 */
export function movedKyc(
  { usd, eur }: Kyc,
  status: KycStatus,
  moderation_comment: string | null,
  swift_clearance: SwiftClearance,
): Kyc {
  const stays = status === "approved" && swift_clearance === "separate";
  const swiftAfter = (before: KycStatus) => (stays ? before : status);
  return {
    general: { status, moderation_comment },
    usd: { status, swift_status: swiftAfter(usd.swift_status) },
    eur: { status, swift_status: swiftAfter(eur.swift_status) },
  };
}

/** The status map after granting or withdrawing swift; null when the move is not legal. */
export function withSwift(
  kyc: Kyc,
  currencies: readonly SwiftCurrency[],
  swift_status: KycStatus,
): Kyc | null {
  if (kyc.general.status !== "approved") return null;
  const after = { ...kyc };
  for (const currency of currencies) {
    const before = kyc[currency].swift_status;
    if (before !== swift_status && !KYC_MOVES[before].includes(swift_status)) return null;
    after[currency] = { ...kyc[currency], swift_status };
  }
  return after;
}
