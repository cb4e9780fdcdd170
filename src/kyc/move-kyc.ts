import type { Transaction } from "../platform/db/database.ts";
import type { Keyring } from "../platform/encryption/keyring.ts";
import { digestOf } from "../platform/sealing/seal.ts";
import { enqueueTasks } from "../platform/tasks/tasks.ts";
import type { KycStatus, User } from "../users/model.ts";
import { reassessUser } from "../users/reassess-user.ts";
import { renderKycEvent } from "../users/render.ts";
import { lockUsers, toUsers, type UserKey, updateKyc } from "../users/store.ts";
import { type NewEvent, recordEvents } from "../webhooks/record-events.ts";
import { deleteKycDraft, updateApplicationsDecided } from "./application-store.ts";
import { DECIDED, EDITABLE, movedKyc } from "./model.ts";
import { sweepFiles } from "./task-kinds.ts";

/** A user whose row is locked, with the key of what is personal in it. */
export type LockedUser = { user: User; subject_key: Buffer };

/**
 * Takes a user through the states that `choosePath` gives for its present one, each with an event
 * of its own. Undefined when there is no such user, null when there is no path.
 */
export async function moveKyc(
  tx: Transaction,
  keyring: Keyring,
  key: UserKey,
  choosePath: (from: KycStatus) => readonly KycStatus[] | null,
  moderation_comment: string | null,
  now: Date,
): Promise<User | null | undefined> {
  const locked = await lockKycUser(tx, keyring, key);
  if (!locked) return undefined;
  const path = choosePath(locked.user.kyc.general.status);
  if (!path) return null;
  return recordMoves(tx, locked, path, moderation_comment, now);
}

export async function lockKycUser(
  tx: Transaction,
  keyring: Keyring,
  key: UserKey,
): Promise<LockedUser | undefined> {
  const { account_id, user_id } = key;
  const rows = await lockUsers(tx, [key]);
  const keys = await keyring.openSubjects(tx, [{ account_id, subject_id: user_id }]);
  const subject_key = keys.get(account_id, user_id);
  const [user] = toUsers(rows, keys);
  return user && subject_key ? { user, subject_key } : undefined;
}

/**
 * Writes the moves of a locked user. Where nothing can be changed any more, what was typed and not
 * submitted goes; with a judgement, the time begins for which the papers are kept.
 */
export function recordMoves(
  tx: Transaction,
  { user: found, subject_key }: LockedUser,
  path: readonly KycStatus[],
  moderation_comment: string | null,
  now: Date,
): User {
  const { account_id, id } = found;
  let user = found;
  const events: NewEvent[] = [];
  for (const status of path) {
    const from_status = user.kyc.general.status;
    const updated_at = new Date(Math.max(now.getTime(), user.updated_at.getTime() + 1));
    const kyc = movedKyc(status, moderation_comment);
    user = { ...user, kyc, sequence: user.sequence + 1, updated_at };
    events.push({
      account_id,
      name: "kyc_update",
      record_id: id,
      sequence: user.sequence,
      from_status,
      to_status: status,
      facts: digestOf(account_id, id, status, user.sequence),
      subject_id: id,
      key: subject_key,
      body: renderKycEvent(user),
    });
  }
  const status = path.at(-1);
  if (status === undefined) return user;
  const key = { account_id, user_id: id };
  updateKyc(tx, user, subject_key);
  recordEvents(tx, events, now);
  // Who begins again has not sent anything yet: the earlier papers go as if they had not.
  if (status !== "initiated") {
    updateApplicationsDecided(tx, key, DECIDED.includes(status) ? now : null);
  }
  if (!EDITABLE.includes(status)) deleteKycDraft(tx, key);
  const sweep = EDITABLE.includes(status) ? [] : [sweepFiles(key, now)];
  enqueueTasks(tx, [reassessUser(key, now), ...sweep]);
  return user;
}
