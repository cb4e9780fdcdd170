import type { Transaction } from "../../../platform/db/database.ts";
import { nextWindow } from "../calendar/next-window.ts";
import { ControlSum } from "../iso20022/amount-text.ts";
import { numberEntries } from "./ach/number-entries.ts";
import type { FileBankAccount, FileRoute } from "./model.ts";
import { type RecoverDeps, removePaid } from "./recover/recover-payments.ts";
import {
  countPayments,
  type DueFile,
  deleteEmptyFile,
  listPaymentKeys,
  lockClosedFile,
  updateFileOf,
  updateToClosed,
} from "./store.ts";
import { type FileBankDeps, lockOpenFile } from "./submit-payments.ts";
import { listDueFiles, lockOpenedFile } from "./unwritten-store.ts";

type CloseDeps = Pick<FileBankDeps, "database" | "findStopped"> & RecoverDeps;

const FILES_AT_ONCE_MAX = 100;
const PAYMENTS_AT_ONCE = 1_000;

/**
 * Fixes the content of an account's files whose window has closed: no payment is added to them any
 * more. Each file is a transaction of its own: one that fails does not keep others open.
 */
export async function closeFiles(deps: CloseDeps, bank_account: string, now: Date): Promise<void> {
  const failures: unknown[] = [];
  const due = await listDueFiles(deps.database, bank_account, now, FILES_AT_ONCE_MAX);
  for (const { id } of due) {
    await closeOne(deps, id, now).catch((error: unknown) => failures.push(error));
  }
  if (failures.length > 0) throw failures[0];
}

async function closeOne(deps: CloseDeps, id: string, now: Date): Promise<void> {
  await deps.database.transaction(async (tx) => {
    const file = await lockOpenedFile(tx, id);
    if (!file) return;
    await removePaid(tx, deps, file, now);
    await deferStopped(tx, deps, file, now);
    await fixContent(tx, deps, file, now);
  });
}

/**
 * Takes payments out of a closed file that must not leave any more. Nobody has seen its bytes yet,
 * so it is closed again without them. Returns whether there were any.
 */
export async function stopPayments(deps: CloseDeps, file_id: string, now: Date): Promise<boolean> {
  return deps.database.transaction(async (tx) => {
    const file = await lockClosedFile(tx, file_id);
    if (!file) return false;
    const is_shorter = await removePaid(tx, deps, file, now);
    if (!(await deferStopped(tx, deps, file, now)) && !is_shorter) return false;
    const is_fixed = await fixContent(tx, deps, file, now);
    if (!is_fixed) throw new Error(`no more files of ${file.bank_account} can be sent today`);
    return true;
  });
}

/** Payments that are on hold wait in the file of the next window, and so on until they may go. */
async function deferStopped(
  tx: Transaction,
  { accounts, findStopped }: CloseDeps,
  file: DueFile,
  now: Date,
): Promise<boolean> {
  if (!findStopped) return false;
  const stopped: string[] = [];
  for (let after = 0n; ; ) {
    const payments = await listPaymentKeys(tx, file.id, after, PAYMENTS_AT_ONCE);
    if (payments.length === 0) break;
    stopped.push(...(await findStopped(tx, payments)));
    after = payments.at(-1)!.number;
  }
  if (stopped.length === 0) return false;
  const found = routeIn(accounts, file);
  if (!found) throw new Error(`no settings for ${file.scheme} of ${file.bank_account}`);
  await updateFileOf(tx, file.id, stopped, await lockOpenFile(tx, found, now));
  return true;
}

/** Returns false if the file has to wait until tomorrow. */
async function fixContent(
  tx: Transaction,
  { accounts }: CloseDeps,
  file: DueFile,
  now: Date,
): Promise<boolean> {
  const inside = await countPayments(tx, [file.id]);
  if (inside.length === 0) {
    await deleteEmptyFile(tx, file.id);
    return true;
  }
  const total = new ControlSum();
  for (const { sum, currency, count } of inside) total.addSum(sum, currency, count);
  const route = routeIn(accounts, file)?.route;
  if (route?.scheme === "ach") {
    const numbered = { id: file.id, route, payments: total.count };
    // The bank tells no more files of this day apart.
    if (!(await numberEntries(tx, accounts, numbered, now))) return false;
  }
  const totals = { payments: total.count, control_sum: String(total) };
  const execution_date = executionDate(route, file, now);
  await updateToClosed(tx, { id: file.id, ...totals, execution_date }, now);
  return true;
}

/** A file that is closed days later, after an outage, gets a new day: its own is over. */
function executionDate(route: FileRoute | undefined, file: DueFile, now: Date): string {
  if (!route) return file.execution_date;
  const { schedule } = route;
  const moment = Temporal.Instant.fromEpochMilliseconds(now.getTime());
  const today = moment.toZonedDateTimeISO(schedule.time_zone).toPlainDate().toString();
  if (today <= file.window_day) return file.execution_date;
  return nextWindow(schedule, now).execution_date;
}

function routeIn(
  accounts: readonly FileBankAccount[],
  { bank_account, scheme }: Pick<DueFile, "bank_account" | "scheme">,
): { account: FileBankAccount; route: FileRoute } | undefined {
  const account = accounts.find(({ name }) => name === bank_account);
  const route = account?.routes.find((one) => one.scheme === scheme);
  return account && route && { account, route };
}
