import type { Transaction } from "../../platform/db/database.ts";
import { type LockedUser, recordMoves } from "../move-kyc.ts";

/** Verification begins with the first saved step, not when the page is opened. */
export function recordBegun(tx: Transaction, locked: LockedUser, now: Date): void {
  const { status, moderation_comment } = locked.user.kyc.general;
  if (status === "initiated") return;
  // The reviewer's comment stays visible while the applicant fixes it.
  recordMoves(tx, locked, ["initiated"], moderation_comment, now);
}
