import type { BankAnswer } from "../../partners/bank/port.ts";
import { applyKeptTask } from "../../partners/kept-messages/apply-kept.ts";
import type { Keeping } from "../../partners/kept-messages/keeping.ts";
import { limitLockWait } from "../../platform/db/lock-wait.ts";
import { SECOND_MS } from "../../platform/durations.ts";
import type { TaskHandler } from "../../platform/tasks/run-set.ts";
import { APPLY_KEPT_ANSWERS_TASK } from "../task-kinds.ts";
import { applyAnswers, type BankDeps } from "./apply-bank-answers.ts";
import { offrampIdOf } from "./model.ts";
import { splitAnswers } from "./split-answers.ts";

/** Of reasons the codes: the bank's own text may name people, and nothing is decided by it. */
type StoredAnswer = Omit<BankAnswer, "amount" | "reasons"> & {
  amount: string;
  reason_codes: string[];
};

/** The bank's answers about one offramp depend on each other: an attempt follows a return. */
export const KEPT_ANSWERS: Keeping<BankAnswer> = {
  kind: APPLY_KEPT_ANSWERS_TASK,
  what: "the bank's answers",
  // What names no payout of ours only waits for a decision of the operator's.
  recordOf: ({ account_id, end_to_end_id }) => offrampIdOf(end_to_end_id) ?? account_id,
  referenceOf: ({ bank_reference }) => bank_reference,
  toText: ({ amount, reasons, ...rest }) => {
    const reason_codes = reasons.flatMap(({ code }) => code ?? []);
    const stored = { ...rest, amount: String(amount), reason_codes } satisfies StoredAnswer;
    return JSON.stringify(stored);
  },
  fromText: (text) => {
    const { amount, reason_codes, ...rest } = JSON.parse(text) as StoredAnswer;
    const reasons = reason_codes.map((code) => ({ code, text: null }));
    return { ...rest, amount: BigInt(amount), reasons };
  },
};

/** Other accounts' tasks of this kind wait meanwhile. */
const LOCK_WAIT_MAX_MS = SECOND_MS;

export function applyKeptAnswersTask(deps: BankDeps): TaskHandler {
  return applyKeptTask(deps.database, KEPT_ANSWERS, (_account_id, answers, now) =>
    applyInParts(deps, answers, LOCK_WAIT_MAX_MS, now),
  );
}

/** In a transaction for each part. */
export async function applyInParts(
  deps: BankDeps,
  answers: readonly BankAnswer[],
  lock_wait_max_ms: number,
  now: Date,
): Promise<void> {
  for (const part of await splitAnswers(deps.database, answers)) {
    await deps.database.transaction((tx) => {
      limitLockWait(tx, lock_wait_max_ms);
      return applyAnswers(tx, deps, part, now);
    });
  }
}
