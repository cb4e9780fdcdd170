import type { Transaction } from "../platform/db/database.ts";
import { type UserKey, updateUnscreened } from "./store.ts";
import { enqueueUserTasks, SCREEN_USER_TASK } from "./task-kinds.ts";

/**
 * These users have sent from or named a wallet, or named the people of a company: they are screened
 * again, and until then nothing leaves. Without screening lists nothing is written.
 */
export function screenAgain(
  tx: Transaction,
  is_screening: boolean,
  users: readonly UserKey[],
  now: Date,
): void {
  if (!is_screening || users.length === 0) return;
  updateUnscreened(tx, users);
  const once = new Map(users.map((user) => [`${user.account_id} ${user.user_id}`, user]));
  enqueueUserTasks(tx, SCREEN_USER_TASK, [...once.values()], now);
}
