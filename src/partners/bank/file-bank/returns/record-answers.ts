import type { Transaction } from "../../../../platform/db/database.ts";
import type { BankAnswer } from "../../port.ts";
import { insertAnswers } from "../store.ts";
import { isReturnId } from "./return-id.ts";
import { updateReturned } from "./return-store.ts";

/** Stores answers to payouts for those who read them, and what became of returned deposits. */
export async function recordAnswers(
  tx: Transaction,
  index_key: Buffer,
  answers: readonly BankAnswer[],
): Promise<void> {
  const { own = [], payouts = [] } = Object.groupBy(answers, ({ end_to_end_id }) =>
    isReturnId(end_to_end_id) ? "own" : "payouts",
  );
  for (const { end_to_end_id, kind } of own) {
    await updateReturned(tx, end_to_end_id, kind === "booked" ? "booked" : "refused");
  }
  await insertAnswers(tx, index_key, payouts);
}
