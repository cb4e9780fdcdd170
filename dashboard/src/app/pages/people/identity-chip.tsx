import type { User } from "@sliproad/sdk";
import { StatusChip, statusName } from "../../parts/status-chip.tsx";

export type IdentityStatus = User["kyc"]["general"]["status"];

/** Every state of an identity check, in the order in which people look for them. */
export const IDENTITY_STATES = Object.keys({
  awaiting_manual_review: true,
  retry_required: true,
  not_started: true,
  initiated: true,
  pending_assessment: true,
  prechecks_completed: true,
  application_queued: true,
  approved: true,
  suspended: true,
  failed: true,
  retry_denied: true,
} satisfies Record<IdentityStatus, true>) as IdentityStatus[];

/** Words that mean something else for payouts. */
const OTHER_WORDS: Readonly<Record<string, string>> = { initiated: "started", failed: "rejected" };

export function IdentityChip({ status }: { status: string }) {
  return <StatusChip status={OTHER_WORDS[status] ?? status} />;
}

/** The plain name of a state, for filters and tabs. */
export function identityName(status: IdentityStatus): string {
  return statusName(OTHER_WORDS[status] ?? status);
}
