import type { Transaction } from "../../platform/db/database.ts";
import { type LockedUser, recordMoves } from "../move-kyc.ts";

/** The first step that is saved, not the mere opening of the page, begins the verification. */
export function recordBegun(tx: Transaction, locked: LockedUser, now: Date): void {
  const { status, moderation_comment } = locked.user.kyc.general;
  if (status === "initiated") return;
  // What a person was asked to fix stays in sight while they fix it.
  recordMoves(tx, locked, ["initiated"], moderation_comment, now);
}
