import type { Session } from "./database.ts";
import { setLocal } from "./set-local.ts";

/** So long the deposits of all accounts, on chain or at the bank, wait for the locks of one. */
export const LOCK_WAIT_MAX_MS = 250;

/**
 * What the transaction waits for a lock from now on; then the statement fails (`isLockConflict`).
 * For work that must not be held up by the locks of one account. Sent with the next statement.
 */
export function limitLockWait(tx: Session, wait_max_ms: number): void {
  const sent = setLocal(tx, { lock_timeout: `${wait_max_ms}ms` });
  // If it fails, so does the next statement.
  sent.catch(() => {});
}
