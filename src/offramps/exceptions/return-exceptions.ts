import { exceptionReturnBooked, exceptionReturnRefused } from "../../ledger/exception-postings.ts";
import { postEntries } from "../../ledger/post-entries.ts";
import type { BankPort } from "../../partners/bank/port.ts";
import type { Database } from "../../platform/db/database.ts";
import { MINUTE_MS } from "../../platform/durations.ts";
import type { TaskSet } from "../../platform/tasks/task-set.ts";
import { loadHolders } from "./held-exceptions.ts";
import type { BankException } from "./model.ts";
import { findBankException, lockBankExceptions, updateBankExceptions } from "./store.ts";

export type ReturnDeps = { database: Database; bank: BankPort };

const BANK_ASKED_AGAIN_AFTER_MS = MINUTE_MS;

/** The key names the exception and the attempt: repeated calls make the bank return it once. */
function askBank(bank: BankPort, exception: BankException): ReturnType<BankPort["returnCredit"]> {
  const { id, returns, bank_reference, held: amount, currency } = exception;
  const key = `bank_exception:${id}:${returns}`;
  return bank.returnCredit({ key, bank_account: null, bank_reference, amount, currency });
}

/** Asks the bank to send the money of exceptions back; a refused one is open again. */
export async function returnExceptions(
  { database, bank }: ReturnDeps,
  set: TaskSet,
): Promise<void> {
  for (const task of set.tasks) {
    const seen = await findBankException(database, task.record_id);
    const is_due = seen?.status === "returning";
    // Frozen after the decision: it waits, also to learn what became of a request before.
    const is_frozen = is_due && (await loadHolders(database, [seen])).get(seen.id)!.is_frozen;
    const answer = is_frozen ? "pending" : is_due ? await askBank(bank, seen) : null;
    await database.transaction(async (tx) => {
      const tasks = await set.lock(tx, [task]);
      if (tasks.length === 0) return;
      if (answer === "pending") {
        const again_at = new Date(set.now.getTime() + BANK_ASKED_AGAIN_AFTER_MS);
        return set.postpone(tx, tasks, again_at);
      }
      const [exception] = await lockBankExceptions(tx, [task.record_id]);
      if (answer !== null && exception?.status === "returning") {
        const is_booked = answer === "booked";
        const change = is_booked
          ? ({ status: "resolved" } as const)
          : ({ status: "open", resolution: null, reason: null } as const);
        updateBankExceptions(tx, [{ ...exception, ...change, updated_at: set.now }]);
        const post = is_booked ? exceptionReturnBooked : exceptionReturnRefused;
        postEntries(tx, [post(exception)], set.now);
      }
      set.finish(tx, tasks);
    });
  }
}
