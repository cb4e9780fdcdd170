import { newId } from "../platform/ids.ts";
import type { NewTask } from "../platform/tasks/tasks.ts";

/** Handled by offramps, a later room: something that a user's payouts depend on has changed. */
export const REASSESS_USER_TASK = "reassess-user";

export function reassessUser(
  { account_id, user_id }: { account_id: string; user_id: string },
  now: Date,
): NewTask {
  return {
    account_id,
    id: newId(now),
    kind: REASSESS_USER_TASK,
    record_id: user_id,
    due_at: now,
    created_at: now,
  };
}
