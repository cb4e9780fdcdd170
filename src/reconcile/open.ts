import { controlledChangeTask } from "../approvals/controlled-change.ts";
import { listStatementAccounts } from "../partners/bank/file-bank/statements/statement-store.ts";
import { HOUR_MS } from "../platform/durations.ts";
import type { Module, ModuleCore } from "../platform/module.ts";
import { recurringTask } from "../platform/tasks/recurring-task.ts";
import { bankItemChange } from "./banks/bank-item-change.ts";
import { bankMetrics } from "./banks/metrics.ts";
import { reconcileBank } from "./banks/reconcile-bank.ts";
import { bookGas } from "./book-gas.ts";
import { reconcileMetrics } from "./metrics.ts";
import { treasuryChange } from "./treasury/book-treasury.ts";

const BOOK_GAS_TASK = "book-gas";
const BOOKED_EVERY_MS = 5_000;
const RECONCILE_BANKS_TASK = "reconcile-banks";

/** Chains and banks only where they are real: those of the sandbox have nothing to compare. */
export function openReconcileModule(
  core: ModuleCore,
  real: { chains: boolean; banks: boolean },
): Module {
  const { database, operator_id, index_key } = core;
  const gas = recurringTask(database, BOOK_GAS_TASK, BOOKED_EVERY_MS, async ({ now }) => {
    await bookGas(database, operator_id, now);
  });
  const banks = recurringTask(database, RECONCILE_BANKS_TASK, HOUR_MS, async () => {
    for (const bank_account of await listStatementAccounts(database)) {
      await reconcileBank(core, bank_account);
    }
  });
  return {
    tasks: [
      controlledChangeTask(core, treasuryChange),
      controlledChangeTask(core, bankItemChange(index_key)),
      ...(real.chains ? [gas] : []),
      ...(real.banks ? [banks] : []),
    ],
    recurring: [
      ...(real.chains ? [BOOK_GAS_TASK] : []),
      ...(real.banks ? [RECONCILE_BANKS_TASK] : []),
    ],
    metrics: [...(real.chains ? [reconcileMetrics()] : []), bankMetrics()],
  };
}
