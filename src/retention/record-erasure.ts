import { recordAudit } from "../accounts/audit.ts";
import type { Actor } from "../accounts/model.ts";
import { type KycSession, updateSessionsEnded } from "../kyc/store.ts";
import { deleteCommands } from "../platform/commands/store.ts";
import type { Transaction } from "../platform/db/database.ts";
import type { Keyring } from "../platform/encryption/keyring.ts";
import { type UserKey, updateDeactivated, updateErased } from "../users/store.ts";
import { enqueueUserTasks, USER_ERASED_TASK } from "../users/task-kinds.ts";
import type { Retention } from "./model.ts";

/** Erases a user once nothing has to be kept any more. */
export const ERASE_USER_TASK = "erase-user";
/** Deletes what the person's key did not seal (`clear-traces.ts`). */
export const CLEAR_TRACES_TASK = "clear-erased-user";

export type By = { actor: Actor; reason: string };

/**
 * Destroys the key of a locked person: whatever any module sealed with it can never be read again,
 * and stored idempotent responses are deleted too. Data that no key seals may be any number of
 * rows: a task deletes it right after. Referenced rows are kept, so that everything can
 * still be verified.
 */
export function recordErasure(
  tx: Transaction,
  keyring: Keyring,
  key: UserKey,
  by: By,
  now: Date,
): void {
  const { account_id, user_id } = key;
  updateErased(tx, key, now);
  keyring.eraseSubject(tx, { account_id, subject_id: user_id });
  enqueueUserTasks(tx, USER_ERASED_TASK, [key], now);
  enqueueUserTasks(tx, CLEAR_TRACES_TASK, [key], now);
  recordAudit(
    tx,
    { account_id, ...by, action: "user.erase" as const, record: `user:${user_id}` },
    now,
  );
}

/** Deactivates a locked user until the erasure is possible, and ends their KYC links. */
export function recordRequest(
  tx: Transaction,
  key: UserKey,
  { erase_after, kept }: Retention,
  sessions: readonly KycSession[],
  by: By,
  now: Date,
): void {
  const { account_id, user_id } = key;
  updateDeactivated(tx, key, now);
  updateSessionsEnded(tx, sessions, "expired", now);
  deleteCommands(tx, sessions);
  enqueueUserTasks(tx, ERASE_USER_TASK, [key], now);
  const detail = {
    erase_after: erase_after?.toISOString() ?? null,
    kept: kept.map(({ record }) => record),
  };
  const entry = {
    account_id,
    ...by,
    action: "user.request_erasure" as const,
    record: `user:${user_id}`,
  };
  recordAudit(tx, { ...entry, detail }, now);
}

/** The erasure was requested, but is not wanted any more. */
export function recordRestored(tx: Transaction, key: UserKey, by: By, now: Date): void {
  const { account_id, user_id } = key;
  updateDeactivated(tx, key, null);
  recordAudit(
    tx,
    { account_id, ...by, action: "user.restore" as const, record: `user:${user_id}` },
    now,
  );
}
