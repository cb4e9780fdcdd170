import type { Transaction } from "../platform/db/database.ts";
import { MINUTE_MS, SECOND_MS } from "../platform/durations.ts";
import type { UserKey } from "../users/store.ts";
import { enqueueUserTasks } from "../users/task-kinds.ts";

export const EXPIRE_SESSION_TASK = "expire-kyc-session";
export const ASSESS_APPLICATION_TASK = "assess-kyc-application";
export const SWEEP_FILES_TASK = "sweep-kyc-files";
export const READ_IDENTITY_TASK = "read-identity-results";

/** Longer than any upload may take: a younger version may belong to an upload in progress. */
export const FILES_SWEPT_AFTER_MS = 5 * MINUTE_MS;

/**
 * Deletes from the file store what no record of the user refers to. Due a moment after a file that
 * is stored now is old enough: written before an upload, it also finds what a crash leaves behind.
 */
export function sweepFiles(tx: Transaction, user: UserKey, now: Date): void {
  const due_at = new Date(now.getTime() + FILES_SWEPT_AFTER_MS + SECOND_MS);
  enqueueUserTasks(tx, SWEEP_FILES_TASK, [user], now, due_at);
}
