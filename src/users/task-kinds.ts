import type { Transaction } from "../platform/db/database.ts";
import { enqueueTasks } from "../platform/tasks/tasks.ts";
import type { UserKey } from "./store.ts";

// What later modules do once a user has changed; each kind is handled by one of them.
/** Something that the user's payouts and onramps depend on has changed. */
export const REASSESS_USER_TASK = "reassess-user";
/** The user's data or KYC status has changed: proposals about it may be out of date. */
export const USER_CHANGED_TASK = "user-changed";
/** A wallet or a person of the user is new: it is compared with the screening lists. */
export const SCREEN_USER_TASK = "screen-user";
/** Personal data outside the database must be deleted. */
export const USER_ERASED_TASK = "user-erased";

export function enqueueUserTasks(
  tx: Transaction,
  kind: string,
  users: readonly UserKey[],
  now: Date,
  due_at = now,
): void {
  const records = users.map(({ account_id, user_id }) => ({ account_id, id: user_id }));
  enqueueTasks(tx, kind, records, now, due_at);
}
