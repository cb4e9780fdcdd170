import type { DeliveryOutcome } from "./outcome-store.ts";
import type { SendResult } from "./request.ts";
import { nextAttemptAt } from "./retry-schedule.ts";
import { sealReceiverAnswer } from "./sealed-answer.ts";
import type { DueDelivery } from "./store.ts";

/** The outcome of an attempt: delivered, to be retried, or failed. */
export function outcomeOf(
  delivery: DueDelivery,
  result: SendResult,
  attempt: { at: Date; latency_ms: number; account_key: Buffer; random: () => number },
): DeliveryOutcome {
  const { account_id, id: delivery_id, attempts, attempts_before } = delivery;
  const { at, latency_ms, account_key, random } = attempt;
  const { status, error, is_success } = result;
  const number = attempts + 1;
  const next_attempt_at =
    is_success || result.is_gone
      ? null
      : nextAttemptAt(number - attempts_before, at, random(), result.retry_after_ms);
  const answer = sealReceiverAnswer(
    account_key,
    { account_id, delivery_id, number },
    result.answer,
  );
  return {
    ...keyOf(delivery),
    attempt: { number, status, error, latency_ms, answer },
    status: is_success ? "delivered" : next_attempt_at ? "pending" : "failed",
    reason: error,
    next_attempt_at,
    at,
  };
}

/** The outcome of a delivery that was not sent, because there was nothing to send any more. */
export function outcomeUnsent(delivery: DueDelivery, reason: string, at: Date): DeliveryOutcome {
  const settled = { attempt: null, status: "skipped", reason, next_attempt_at: null, at } as const;
  return { ...keyOf(delivery), ...settled };
}

function keyOf(delivery: DueDelivery) {
  const { account_id, app_id, id: delivery_id, record_id, sequence, due_at } = delivery;
  return { account_id, app_id, delivery_id, record_id, sequence, due_at };
}
