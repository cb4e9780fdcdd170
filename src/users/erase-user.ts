import { recordAudit } from "../accounts/audit.ts";
import type { Actor } from "../accounts/model.ts";
import { listBalances } from "../ledger/store.ts";
import type { Database, Session } from "../platform/db/database.ts";
import type { Keyring } from "../platform/encryption/keyring.ts";
import { enqueueTasks } from "../platform/tasks/tasks.ts";
import { updateAnswersErased } from "../webhooks/redelivery-store.ts";
import { lockUsers, type UserKey, updateErased } from "./store.ts";
import { USER_ERASED_TASK, userTask } from "./task-kinds.ts";

/**
 * Destroys the person's key: whatever any module sealed with it can never be read again, and stored
 * idempotent responses are deleted too. Referenced rows are kept, so that everything can still be
 * verified. Refused while money is on its way or owed to the person, because it could not be paid
 * without knowing them. A later module provides `hasOpenPayouts`.
 */
export function eraseUser(
  database: Database,
  keyring: Keyring,
  key: UserKey,
  by: { actor: Actor; reason: string },
  now: Date,
  hasOpenPayouts: (session: Session, key: UserKey) => Promise<boolean>,
): Promise<"erased" | "unknown" | "busy"> {
  const { account_id, user_id } = key;
  return database.transaction(async (tx) => {
    const [user] = await lockUsers(tx, [key]);
    if (!user) return "unknown";
    const balances = await listBalances(tx, key);
    const is_owed = balances.some(({ balance }) => balance > 0n);
    if (is_owed || (await hasOpenPayouts(tx, key))) return "busy";
    updateErased(tx, key, now);
    updateAnswersErased(tx, account_id, user_id);
    keyring.eraseSubject(tx, { account_id, subject_id: user_id });
    enqueueTasks(tx, [userTask(USER_ERASED_TASK, key, now)]);
    recordAudit(tx, { account_id, ...by, action: "user.erase", record: `user:${user_id}` }, now);
    return "erased";
  });
}
