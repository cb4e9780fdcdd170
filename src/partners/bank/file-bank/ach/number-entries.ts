import type { Transaction } from "../../../../platform/db/database.ts";
import { ENTRY_AMOUNT_MAX } from "../../nacha/ach-file.ts";
import { traceNumberOf } from "../../nacha/write-ach.ts";
import type { AchRoute, FileBankAccount } from "../model.ts";
import {
  type BatchRow,
  listModifiers,
  listUnnumbered,
  lockTraces,
  type UnnumberedPayment,
  updateModifier,
  updateTraceNumbers,
  updateTraces,
  upsertBatches,
} from "./ach-store.ts";

const SEQUENCE_MAX = 9_999_999;
const MODIFIERS = [..."ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"];

/** Of the batches of a file, in their order. */
const ENTRY_CLASSES = ["PPD", "CCD"] as const;
const PAYMENTS_AT_ONCE = 1_000;

type NumberedFile = { id: string; route: AchRoute; payments: number };

/**
 * Fixes what is numbered in a NACHA file: its modifier, its batches, and the trace of each entry.
 * Traces are given out once: a file that is not written, or written again, leaves a gap at most.
 * Returns false if the bank cannot take another file today.
 */
export async function numberEntries(
  tx: Transaction,
  accounts: readonly FileBankAccount[],
  file: NumberedFile,
  now: Date,
): Promise<boolean> {
  const { originating_bank, offset } = file.route.origination;
  // Locked first: two files of one sender never get the same modifier.
  const last = await lockTraces(tx, originating_bank);
  const modifier = await findModifier(tx, accounts, file, now);
  if (modifier === undefined) return false;
  // With a debit in each batch, and a batch for each payment: no file needs more.
  const needed_max = offset ? 2 * file.payments : file.payments;
  // Traces ascend within a file, so one that may not fit before the end begins anew.
  const first = last + needed_max > SEQUENCE_MAX ? 0 : last;
  const batches = new Batches(originating_bank, offset !== null, first);
  for (const entry_class of ENTRY_CLASSES) {
    for (let after = 0n; ; ) {
      const place = { file_id: file.id, entry_class, after };
      const payments = await listUnnumbered(tx, place, PAYMENTS_AT_ONCE);
      if (payments.length === 0) break;
      await updateTraceNumbers(
        tx,
        payments.map((payment) => batches.take(entry_class, payment)),
      );
      after = payments.at(-1)!.number;
    }
    batches.end();
  }
  await upsertBatches(tx, file.id, batches.rows);
  await updateModifier(tx, file.id, modifier);
  await updateTraces(tx, originating_bank, batches.sequence);
  return true;
}

/** One batch for each class; more where the debit that balances a batch would be too large. */
class Batches {
  readonly rows: BatchRow[] = [];
  /** The last one that was given out. */
  sequence: number;
  readonly #originating_bank: string;
  readonly #is_balanced: boolean;
  #open: BatchRow | null = null;

  constructor(originating_bank: string, is_balanced: boolean, sequence: number) {
    this.#originating_bank = originating_bank;
    this.#is_balanced = is_balanced;
    this.sequence = sequence;
  }

  take(entry_class: BatchRow["entry_class"], { end_to_end_id, amount }: UnnumberedPayment) {
    const sum = (this.#open?.amount ?? 0n) + amount;
    if (this.#is_balanced && sum > ENTRY_AMOUNT_MAX) this.end();
    this.#open ??= {
      ...{ number: this.rows.length + 1, entry_class, offset_sequence: null },
      ...{ payments: 0, amount: 0n },
    };
    this.#open.payments += 1;
    this.#open.amount += amount;
    const trace_number = traceNumberOf(this.#originating_bank, this.#next());
    return { end_to_end_id, batch_number: this.#open.number, trace_number };
  }

  /** The debit follows the credits that it balances. */
  end(): void {
    if (!this.#open) return;
    if (this.#is_balanced) this.#open.offset_sequence = this.#next();
    this.rows.push(this.#open);
    this.#open = null;
  }

  #next(): number {
    this.sequence += 1;
    return this.sequence;
  }
}

/** The first letter or digit that no other file of this sender has on this day. */
async function findModifier(
  tx: Transaction,
  accounts: readonly FileBankAccount[],
  { id, route: { origination, schedule } }: NumberedFile,
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
