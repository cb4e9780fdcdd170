import type { AchCredit } from "../../nacha/ach-file.ts";
import { type AchBatchWithCredits, writeAch } from "../../nacha/write-ach.ts";
import type { AchRoute, ClosedFile } from "../model.ts";
import { type OpenedPayment, readPayments } from "../read-payments.ts";
import type { FileBankDeps } from "../submit-payments.ts";
import { listBatches } from "./ach-store.ts";
import { creditOf } from "./credit-of.ts";

/** The text of a closed NACHA file, the same each time. */
export async function* renderAchFile(
  deps: FileBankDeps,
  { schedule, origination }: AchRoute,
  file: ClosedFile,
): AsyncGenerator<string> {
  const { offset, is_booked_by_sum: _, ...sender } = origination;
  const moment = Temporal.Instant.fromEpochMilliseconds(file.created_at.getTime());
  const created = moment.toZonedDateTimeISO(schedule.time_zone);
  const head = {
    ...sender,
    created_on: created.toPlainDate().toString(),
    created_at: created.toPlainTime().toString().slice(0, 5),
    modifier: file.modifier!,
  };
  const count = { payments: 0 };
  const batches: AchBatchWithCredits[] = (await listBatches(deps.database, file.id)).map(
    ({ number, entry_class, offset_sequence }) => ({
      ...{ ...sender, number, entry_class },
      effective_date: file.execution_date,
      offset: offset && { ...offset, trace_sequence: offset_sequence! },
      credits: toCredits(readPayments(deps, file, number), count),
    }),
  );
  yield* writeAch(head, batches);
  if (count.payments !== file.payments) {
    throw new Error(`file ${file.message_id} has ${count.payments} of ${file.payments} payments`);
  }
}

async function* toCredits(
  payments: AsyncIterable<OpenedPayment>,
  count: { payments: number },
): AsyncGenerator<AchCredit> {
  for await (const payment of payments) {
    count.payments += 1;
    yield creditOf(payment, Number(payment.trace_number!.slice(-SEQUENCE_DIGITS)));
  }
}

const SEQUENCE_DIGITS = 7;
