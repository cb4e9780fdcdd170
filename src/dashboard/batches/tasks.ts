import { listAccounts } from "../../accounts/store.ts";
import { HOUR_MS } from "../../platform/durations.ts";
import type { ModuleCore } from "../../platform/module.ts";
import { recurringTask } from "../../platform/tasks/recurring-task.ts";
import type { TaskHandler } from "../../platform/tasks/run-set.ts";
import { deleteExpiredBatches } from "./store.ts";

export const DELETE_BATCHES_TASK = "delete-old-payout-batches";
const DELETE_EVERY_MS = HOUR_MS;

/** What was uploaded holds data of people: it goes when nobody uses it any more. */
export function deleteBatchesTask({ database }: Pick<ModuleCore, "database">): TaskHandler {
  return recurringTask(database, DELETE_BATCHES_TASK, DELETE_EVERY_MS, async ({ now }) => {
    for (const { id } of await listAccounts(database)) {
      await deleteExpiredBatches(database, id, now);
    }
  });
}
