import type { Database } from "../../../platform/db/database.ts";
import { ControlSum } from "../iso20022/amount-text.ts";
import { countPayments, deleteEmptyFile, lockDueFiles, updateToClosed } from "./store.ts";

const FILES_AT_ONCE_MAX = 100;

/** Fixes the content of files whose window has closed: no payment is added to them any more. */
export async function closeFiles(database: Database, now: Date): Promise<void> {
  await database.transaction(async (tx) => {
    const ids = await lockDueFiles(tx, now, FILES_AT_ONCE_MAX);
    if (ids.length === 0) return;
    const sums = Map.groupBy(await countPayments(tx, ids), ({ file_id }) => file_id);
    for (const id of ids) {
      const inside = sums.get(id);
      if (!inside) {
        await deleteEmptyFile(tx, id);
        continue;
      }
      const total = new ControlSum();
      for (const { sum, currency, count } of inside) total.addSum(sum, currency, count);
      const file = { id, payments: total.count, control_sum: String(total) };
      await updateToClosed(tx, file, now);
    }
  });
}
