import { DAY_MS } from "../platform/durations.ts";
import { digestOf } from "../platform/sealing/seal.ts";
import type { Kyc, KycStatus, User } from "../users/model.ts";

/** Legal moves of a user's verification. */
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

/** While a person may still give and change data; in every other state there is no draft. */
export const EDITABLE: readonly KycStatus[] = ["not_started", "initiated", "retry_required"];

/** A judgement was given: from then on, the time runs for which its papers are kept. */
export const DECIDED: readonly KycStatus[] = [
  "approved",
  "failed",
  "retry_required",
  "retry_denied",
];

export const LINK_LIFE_MS = DAY_MS;
export const BIRTH_DATE_TRIES_MAX = 5;
/** Browsers in which one link can be opened. */
export const VISITS_MAX = 60;
export const ADULT_YEARS = 18;
export const FILE_BYTES_MAX = 10 * 1024 * 1024;

/** Whether approval clears for swift as well, or a reviewer does that on its own. */
export type SwiftClearance = "with_approval" | "separate";

/** Swift in eur has a clearance of its own; that of usd holds for every other currency. */
export const SWIFT_CURRENCIES = ["usd", "eur"] as const;
export type SwiftCurrency = (typeof SWIFT_CURRENCIES)[number];

/**
 * The status map after a move. What is cleared follows the general status, and taking that back
 * takes all of it back; only approval leaves swift where it was, when clearance is separate.
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

/** The status map after swift was granted or withdrawn; null where no legal move leads there. */
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

/** What the event of a change vouches for. */
export function digestKyc({ account_id, id, kyc, sequence }: DigestedUser): Buffer {
  const { general, usd, eur } = kyc;
  const cleared = [usd.status, usd.swift_status, eur.status, eur.swift_status];
  return digestOf(account_id, id, general.status, sequence, ...cleared);
}

type DigestedUser = Pick<User, "account_id" | "id" | "sequence"> & {
  kyc: { general: { status: KycStatus }; usd: Kyc["usd"]; eur: Kyc["eur"] };
};
