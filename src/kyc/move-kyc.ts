import type { Transaction } from "../platform/db/database.ts";
import type { Keyring } from "../platform/encryption/keyring.ts";
import { digestOf } from "../platform/sealing/seal.ts";
import { enqueueTasks } from "../platform/tasks/tasks.ts";
import type { KycStatus, User } from "../users/model.ts";
import { reassessUser } from "../users/reassess-user.ts";
import { renderKycEvent } from "../users/render.ts";
import { lockUsers, toUsers, type UserKey, updateKyc } from "../users/store.ts";
import { type NewEvent, recordEvents } from "../webhooks/record-events.ts";
import { movedKyc } from "./model.ts";

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
  const { account_id, user_id } = key;
  const rows = await lockUsers(tx, [key]);
  const keys = await keyring.openSubjects(tx, [{ account_id, subject_id: user_id }]);
  const subject_key = keys.get(account_id, user_id);
  const [found] = toUsers(rows, keys);
  if (!found || !subject_key) return undefined;
  const path = choosePath(found.kyc.general.status);
  if (!path) return null;
  let user: User = found;
  const events: NewEvent[] = [];
  for (const status of path) {
    const from_status = user.kyc.general.status;
    const updated_at = new Date(Math.max(now.getTime(), user.updated_at.getTime() + 1));
    const kyc = movedKyc(status, moderation_comment);
    user = { ...user, kyc, sequence: user.sequence + 1, updated_at };
    events.push({
      account_id,
      name: "kyc_update",
      record_id: user.id,
      sequence: user.sequence,
      from_status,
      to_status: status,
      facts: digestOf(account_id, user.id, status, user.sequence),
      subject_id: user.id,
      key: subject_key,
      body: renderKycEvent(user),
    });
  }
  if (events.length > 0) {
    updateKyc(tx, user, subject_key);
    recordEvents(tx, events, now);
    enqueueTasks(tx, [reassessUser(key, now)]);
  }
  return user;
}
