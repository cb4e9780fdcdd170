import type { ApprovalRules } from "./with-approval.ts";

/** Whether a refund address or payment detail is so new that it receives money only by approval. */
export function isCoolingOff(
  { cooling_off_ms }: Pick<ApprovalRules, "cooling_off_ms">,
  created_at: Date,
  now: Date,
): boolean {
  return created_at.getTime() > now.getTime() - cooling_off_ms;
}
