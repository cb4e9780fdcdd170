import type { Module, ModuleCore } from "../platform/module.ts";
import { recurringTask } from "../platform/tasks/recurring-task.ts";
import { bookGas } from "./book-gas.ts";
import { reconcileMetrics } from "./metrics.ts";

const BOOK_GAS_TASK = "book-gas";
const BOOKED_EVERY_MS = 5_000;

/** Only where chains are real: the sandbox's own cost nothing. */
export function openReconcileModule(core: ModuleCore): Module {
  const { database, operator_id } = core;
  return {
    tasks: [
      recurringTask(database, BOOK_GAS_TASK, BOOKED_EVERY_MS, async ({ now }) => {
        await bookGas(database, operator_id, now);
      }),
    ],
    recurring: [BOOK_GAS_TASK],
    metrics: [reconcileMetrics()],
  };
}
