import { type NewTask, taskNow } from "../platform/tasks/tasks.ts";

/** Handled by a later module: something that a user's payouts and onramps depend on has changed. */
export const REASSESS_USER_TASK = "reassess-user";

export function reassessUser(
  { account_id, user_id }: { account_id: string; user_id: string },
  now: Date,
): NewTask {
  return taskNow(REASSESS_USER_TASK, { account_id, id: user_id }, now);
}
