import type { Transaction } from "../platform/db/database.ts";
import { updateTasksDue } from "../platform/tasks/tasks.ts";
import { ASSESS_OFFRAMP_TASK, SEND_PAYOUT_TASK } from "./task-kinds.ts";

/** A gate of these offramps may have opened: check them now, not within the hour. */
export function reassessOfframps(
  tx: Transaction,
  account_id: string,
  offramp_ids: readonly string[],
  now: Date,
): void {
  const kinds = [ASSESS_OFFRAMP_TASK, SEND_PAYOUT_TASK];
  updateTasksDue(tx, { account_id, kinds }, offramp_ids, now);
}
