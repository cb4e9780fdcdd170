import { ageSeconds, COUNTED, type MetricSource } from "../platform/metrics/model.ts";
import { findOpenExceptions } from "./exceptions/store.ts";
import { findKept, listOpenOfframps, listOpenPayouts, type OpenRecords } from "./metrics-store.ts";
import { APPLY_KEPT_ANSWERS_TASK, CREDIT_KEPT_DEPOSITS_TASK } from "./task-kinds.ts";

/** Payouts in progress, bank answers that contradict them, and offramps that wait. */
export const offrampMetrics: MetricSource = {
  gauges: [
    {
      name: "sliproad_payouts_open",
      help: `Payouts that the bank has not settled, by state; ${COUNTED}.`,
      label: "status",
    },
    {
      name: "sliproad_payout_oldest_seconds",
      help: "Age of the oldest payout in a state; 0 when there is none.",
      label: "status",
    },
    {
      name: "sliproad_offramps_open",
      help: `Executed offramps that are not final, by state; ${COUNTED}.`,
      label: "status",
    },
    {
      name: "sliproad_offramp_oldest_seconds",
      help: "Age of the oldest offramp in a state; 0 when there is none.",
      label: "status",
    },
    {
      name: "sliproad_bank_exceptions",
      help: `Bank answers that could not be applied; ${COUNTED}.`,
    },
    {
      name: "sliproad_bank_exception_oldest_seconds",
      help: "Age of the oldest bank answer that could not be applied; 0 when there is none.",
    },
    {
      name: "sliproad_bank_answers_kept",
      help: `Bank answers that could not be applied and are tried again; ${COUNTED}.`,
    },
    {
      name: "sliproad_bank_answer_kept_oldest_seconds",
      help: "Age of the oldest bank answer that is tried again; 0 when there is none.",
    },
    {
      name: "sliproad_chain_deposits_kept",
      help: `Deposits on chain that could not be credited and are tried again; ${COUNTED}.`,
    },
    {
      name: "sliproad_chain_deposit_kept_oldest_seconds",
      help: "Age of the oldest deposit on chain that is tried again; 0 when there is none.",
    },
  ],
  read: async (session, { now }) => {
    const [payouts, offramps, { exceptions, oldest_at }, answers, deposits] = await Promise.all([
      listOpenPayouts(session),
      listOpenOfframps(session),
      findOpenExceptions(session),
      findKept(session, APPLY_KEPT_ANSWERS_TASK),
      findKept(session, CREDIT_KEPT_DEPOSITS_TASK),
    ]);
    return [
      { name: "sliproad_bank_exceptions", value: exceptions },
      { name: "sliproad_bank_exception_oldest_seconds", value: ageSeconds(oldest_at, now) },
      { name: "sliproad_bank_answers_kept", value: answers.messages },
      {
        name: "sliproad_bank_answer_kept_oldest_seconds",
        value: ageSeconds(answers.oldest_at, now),
      },
      { name: "sliproad_chain_deposits_kept", value: deposits.messages },
      {
        name: "sliproad_chain_deposit_kept_oldest_seconds",
        value: ageSeconds(deposits.oldest_at, now),
      },
      ...samplesOf(payouts, "sliproad_payouts_open", "sliproad_payout_oldest_seconds", now),
      ...samplesOf(offramps, "sliproad_offramps_open", "sliproad_offramp_oldest_seconds", now),
    ];
  },
};

function samplesOf(rows: readonly OpenRecords[], count: string, age: string, now: Date) {
  return rows.flatMap(({ status, records, oldest_at }) => [
    { name: count, label: status, value: records },
    { name: age, label: status, value: ageSeconds(oldest_at, now) },
  ]);
}
