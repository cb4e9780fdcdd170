import { recordEvents } from "../events/record-events.ts";
import type { Transaction } from "../platform/db/database.ts";
import { enqueueUserTasks, REASSESS_USER_TASK } from "../users/task-kinds.ts";
import { digestDetail, type PaymentDetail, type PaymentDetailStatus } from "./model.ts";
import { renderPaymentDetailEvent } from "./render.ts";
import { updateStatuses } from "./store.ts";

/** A payment detail after a status change, with its previous status. */
export type ChangedDetail = {
  detail: PaymentDetail;
  from_status: PaymentDetailStatus;
  /** The user's key. */
  key: Buffer;
};

/** The payment detail after a move; `updated_at` increases with every change. */
export function moveDetail(
  detail: PaymentDetail,
  status: PaymentDetailStatus,
  key: Buffer,
  now: Date,
): ChangedDetail {
  const updated_at = new Date(Math.max(now.getTime(), detail.updated_at.getTime() + 1));
  const moved = { ...detail, status, sequence: detail.sequence + 1, updated_at };
  return { detail: moved, from_status: detail.status, key };
}

/** Writes the final state of the locked payment details, and an event for every move. */
export function recordDetailChanges(
  tx: Transaction,
  changes: readonly ChangedDetail[],
  now: Date,
): void {
  if (changes.length === 0) return;
  const last = new Map(changes.map(({ detail }) => [detail.id, detail]));
  updateStatuses(tx, [...last.values()]);
  enqueueUserTasks(tx, REASSESS_USER_TASK, [...last.values()], now);
  recordEvents(
    tx,
    changes.map(({ detail, from_status, key }) => ({
      account_id: detail.account_id,
      name: "payment_detail_update",
      record_id: detail.id,
      sequence: detail.sequence,
      from_status,
      to_status: detail.status,
      facts: digestDetail(detail),
      subject_id: detail.user_id,
      key,
      body: renderPaymentDetailEvent(detail),
    })),
    now,
  );
}
