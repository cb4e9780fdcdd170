import type { Transaction } from "../../platform/db/database.ts";
import { FIRST_ID } from "../../platform/ids.ts";
import type { ModuleCore } from "../../platform/module.ts";
import { oneByOne } from "../../platform/tasks/one-by-one.ts";
import type { TaskHandler } from "../../platform/tasks/run-set.ts";
import { enqueueTasks } from "../../platform/tasks/tasks.ts";
import { listConsentedAccounts, updateConsentsRevoked } from "../store.ts";
import { deletePersonTokens } from "../tokens-store.ts";

const END_CONSENTS_TASK = "end-consents";
const SET_MAX = 10;
const ACCOUNTS_AT_ONCE = 100;

/**
 * Ends what a person let applications do, in all accounts. No token works after the commit. Where a
 * transaction is of one account (`of_transaction`, SLIPROAD_BATCH_BY=account), a task ends the
 * consents in the others, whose events their applications may receive until then. `members` is not
 * asked: whoever changes a row of it in the database must not keep a consent alive by it.
 */
export async function endConsents(
  tx: Transaction,
  person_id: string,
  of_transaction: string | undefined,
  now: Date,
): Promise<void> {
  deletePersonTokens(tx, person_id);
  if (!tx.by_account) return updateConsentsRevoked(tx, { account_id: null, person_id }, now);
  const [consented] = await listConsentedAccounts(tx, person_id, FIRST_ID, 1);
  if (consented === undefined) return;
  const account_id = of_transaction ?? consented;
  updateConsentsRevoked(tx, { account_id, person_id }, now);
  enqueueTasks(tx, END_CONSENTS_TASK, [{ account_id, id: person_id }], now);
}

/** Ends the consents that were given meanwhile too: whose they were is not certain. */
export function endConsentsTask({ database }: Pick<ModuleCore, "database">): TaskHandler {
  return {
    kind: END_CONSENTS_TASK,
    set_max: SET_MAX,
    handle: (set) =>
      oneByOne(database, set, async (task) => {
        const person_id = task.record_id;
        let after = FIRST_ID;
        for (;;) {
          const some = await listConsentedAccounts(database, person_id, after, ACCOUNTS_AT_ONCE);
          for (const account_id of some) {
            await database.transaction(async (tx) =>
              updateConsentsRevoked(tx, { account_id, person_id }, set.now),
            );
          }
          if (some.length < ACCOUNTS_AT_ONCE) break;
          after = some.at(-1)!;
        }
        await database.transaction(async (tx) => set.finish(tx, await set.lock(tx, [task])));
      }),
  };
}
