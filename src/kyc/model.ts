import type { Kyc, KycStatus } from "../users/model.ts";

/** Legal moves of a user's verification (contract §4). */
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

export const SESSION_MS = 24 * 60 * 60 * 1000;
export const BIRTH_DATE_TRIES_MAX = 5;
export const ADULT_YEARS = 18;
export const FILE_BYTES_MAX = 10 * 1024 * 1024;

/**
 * The status map after a move. What is cleared follows the general status: approval grants every
 * currency and swift, and taking it back takes them back.
 */
export function movedKyc(status: KycStatus, moderation_comment: string | null): Kyc {
  const per_currency = { status, swift_status: status };
  return {
    general: { status, moderation_comment },
    usd: { ...per_currency },
    eur: { ...per_currency },
  };
}
