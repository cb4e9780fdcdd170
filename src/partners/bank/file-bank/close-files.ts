import { nextWindow } from "../calendar/next-window.ts";
import { ControlSum } from "../iso20022/amount-text.ts";
import type { FileBankAccount } from "./model.ts";
import {
  countPayments,
  type DueFile,
  deleteEmptyFile,
  lockDueFiles,
  updateToClosed,
} from "./store.ts";
import type { FileBankDeps } from "./submit-payments.ts";

const FILES_AT_ONCE_MAX = 100;

/** Fixes the content of files whose window has closed: no payment is added to them any more. */
export async function closeFiles(
  { database, accounts }: Pick<FileBankDeps, "database" | "accounts">,
  now: Date,
): Promise<void> {
  await database.transaction(async (tx) => {
    const files = await lockDueFiles(tx, now, FILES_AT_ONCE_MAX);
    if (files.length === 0) return;
    const counted = await countPayments(
      tx,
      files.map(({ id }) => id),
    );
    const sums = Map.groupBy(counted, ({ file_id }) => file_id);
    for (const file of files) {
      const inside = sums.get(file.id);
      if (!inside) {
        await deleteEmptyFile(tx, file.id);
        continue;
      }
      const total = new ControlSum();
      for (const { sum, currency, count } of inside) total.addSum(sum, currency, count);
      const execution_date = executionDate(accounts, file, now);
      const totals = { payments: total.count, control_sum: String(total) };
      await updateToClosed(tx, { id: file.id, ...totals, execution_date }, now);
    }
  });
}

/** A file that is closed days later, after an outage, gets a new day: its own is over. */
function executionDate(accounts: readonly FileBankAccount[], file: DueFile, now: Date): string {
  const account = accounts.find(({ name }) => name === file.bank_account);
  const schedule = account?.routes.find(({ scheme }) => scheme === file.scheme)?.schedule;
  if (!schedule) return file.execution_date;
  const moment = Temporal.Instant.fromEpochMilliseconds(now.getTime());
  const today = moment.toZonedDateTimeISO(schedule.time_zone).toPlainDate().toString();
  if (today <= file.window_day) return file.execution_date;
  return nextWindow(schedule, now).execution_date;
}
