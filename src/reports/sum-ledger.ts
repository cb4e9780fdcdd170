import {
  listUnsummedAccounts,
  lockSumMark,
  upsertDaySums,
  upsertOwedSums,
} from "../ledger/day-sum-store.ts";
import type { Database } from "../platform/db/database.ts";
import { MINUTE_MS } from "../platform/durations.ts";
import { recurringTask } from "../platform/tasks/recurring-task.ts";
import type { TaskHandler } from "../platform/tasks/run-set.ts";

export const SUM_LEDGER_TASK = "sum-ledger";
const EVERY_MS = MINUTE_MS;
const BLOCKS_AT_ONCE_MAX = 10;
/** Limits one run: the next one adds the rest. */
const ROUNDS_MAX = 100;

/** Adds sealed entries to the sums; until then, reading the balances reads their lines. */
export function sumLedgerTask(database: Database): TaskHandler {
  return recurringTask(database, SUM_LEDGER_TASK, EVERY_MS, () => sumLedger(database));
}

export async function sumLedger(database: Database): Promise<void> {
  for (let round = 0; round < ROUNDS_MAX; round += 1) {
    const account_ids = await listUnsummedAccounts(database);
    if (account_ids.length === 0) return;
    for (const account_id of account_ids) {
      await database.transaction(async (tx) => {
        await lockSumMark(tx, account_id);
        upsertDaySums(tx, account_id, BLOCKS_AT_ONCE_MAX);
        upsertOwedSums(tx, account_id, BLOCKS_AT_ONCE_MAX);
      });
    }
  }
}
