import { type NewTask, taskNow } from "../platform/tasks/tasks.ts";

/** Handled by later modules that store personal data outside the database. */
export const USER_ERASED_TASK = "user-erased";

export function userErased(
  { account_id, user_id }: { account_id: string; user_id: string },
  now: Date,
): NewTask {
  return taskNow(USER_ERASED_TASK, { account_id, id: user_id }, now);
}
