import { recordAudit } from "../access/audit.ts";
import type { Actor } from "../access/model.ts";
import type { Database } from "../platform/db/database.ts";
import type { Keyring } from "../platform/encryption/keyring.ts";
import { lockUsers, type UserKey, updateErased } from "./store.ts";

/**
 * Destroys the person's key: whatever any room has sealed with it can never be read again, and
 * answers stored for repetition go with it. Rows that others refer to stay, so everything can
 * still be verified. False when there is no such user.
 */
export function eraseUser(
  database: Database,
  keyring: Keyring,
  key: UserKey,
  by: { actor: Actor; reason: string },
  now: Date,
): Promise<boolean> {
  const { account_id, user_id } = key;
  return database.transaction(async (tx) => {
    const [user] = await lockUsers(tx, [key]);
    if (!user) return false;
    updateErased(tx, key, now);
    keyring.eraseSubject(tx, { account_id, subject_id: user_id });
    recordAudit(tx, { account_id, ...by, action: "user.erase", record: `user:${user_id}` }, now);
    return true;
  });
}
