import type { Transaction } from "../../../../platform/db/database.ts";
import { ENTRY_AMOUNT_MAX } from "../../nacha/ach-file.ts";
import { traceNumberOf } from "../../nacha/write-ach.ts";
import type { AchRoute, FileBankAccount } from "../model.ts";
import {
  type BatchRow,
  listModifiers,
  listUnnumbered,
  lockTraces,
  type NumberedPayment,
  updateModifier,
  updateTraceNumbers,
  updateTraces,
  upsertBatches,
} from "./ach-store.ts";

const SEQUENCE_MAX = 9_999_999;
const MODIFIERS = [..."ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"];

/**
 * Fixes what is numbered in a NACHA file: its modifier, its batches, and the trace of each entry.
 * Traces are given out once: a file that is not written, or written again, leaves a gap at most.
 * Returns false if the bank cannot take another file today.
 */
export async function numberEntries(
  tx: Transaction,
  accounts: readonly FileBankAccount[],
  { id, route }: { id: string; route: AchRoute },
  now: Date,
): Promise<boolean> {
  const { originating_bank, offset } = route.origination;
  // Locked first: two files of one sender never get the same modifier.
  const last = await lockTraces(tx, originating_bank);
  const modifier = await findModifier(tx, accounts, { id, route }, now);
  if (modifier === undefined) return false;
  const batches = toBatches(await listUnnumbered(tx, id), offset !== null);
  const needed = batches.reduce((sum, one) => sum + one.length + (offset ? 1 : 0), 0);
  // Traces ascend within a file, so one that does not fit before the end begins anew.
  let sequence = last + needed > SEQUENCE_MAX ? 0 : last;
  const next = () => {
    sequence += 1;
    return sequence;
  };
  const numbered: { end_to_end_id: string; batch_number: number; trace_number: string }[] = [];
  const rows: BatchRow[] = [];
  for (const [at, payments] of batches.entries()) {
    const batch_number = at + 1;
    for (const { end_to_end_id } of payments) {
      const trace_number = traceNumberOf(originating_bank, next());
      numbered.push({ end_to_end_id, batch_number, trace_number });
    }
    rows.push({
      number: batch_number,
      entry_class: payments[0]!.entry_class,
      offset_sequence: offset ? next() : null,
      payments: payments.length,
      amount: payments.reduce((sum, { amount }) => sum + amount, 0n),
    });
  }
  await updateTraceNumbers(tx, numbered);
  await upsertBatches(tx, id, rows);
  await updateModifier(tx, id, modifier);
  await updateTraces(tx, originating_bank, sequence);
  return true;
}

/** One batch for each class; more where the debit that balances a batch would be too large. */
function toBatches(payments: readonly NumberedPayment[], is_balanced: boolean) {
  const batches: NumberedPayment[][] = [];
  let sum = 0n;
  for (const payment of payments) {
    const batch = batches.at(-1);
    const is_full = is_balanced && sum + payment.amount > ENTRY_AMOUNT_MAX;
    if (batch && batch[0]!.entry_class === payment.entry_class && !is_full) {
      batch.push(payment);
      sum += payment.amount;
    } else {
      batches.push([payment]);
      sum = payment.amount;
    }
  }
  return batches;
}

/** The first letter or digit that no other file of this sender has on this day. */
async function findModifier(
  tx: Transaction,
  accounts: readonly FileBankAccount[],
  { id, route: { origination, schedule } }: { id: string; route: AchRoute },
  now: Date,
): Promise<string | undefined> {
  const { destination, origin } = origination;
  const senders = accounts.filter(({ routes }) =>
    routes.some(
      (route) =>
        route.scheme === "ach" &&
        route.origination.destination === destination &&
        route.origination.origin === origin,
    ),
  );
  const moment = Temporal.Instant.fromEpochMilliseconds(now.getTime());
  const day = moment.toZonedDateTimeISO(schedule.time_zone).startOfDay();
  const names = senders.map(({ name }) => name);
  const used = await listModifiers(tx, id, names, new Date(day.epochMilliseconds));
  return MODIFIERS.find((one) => !used.has(one));
}
