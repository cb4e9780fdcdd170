import type { Transaction } from "../../platform/db/database.ts";
import type { ModuleCore } from "../../platform/module.ts";
import { oneByOne } from "../../platform/tasks/one-by-one.ts";
import type { TaskHandler } from "../../platform/tasks/run-set.ts";
import { enqueueTasks } from "../../platform/tasks/tasks.ts";
import { deletePersonTokens, listMemberships, updateConsentsRevoked } from "../store.ts";

const END_CONSENTS_TASK = "end-consents";
const SET_MAX = 10;
const MEMBERSHIPS_MAX = 1_000;

/**
 * Ends what a person let applications do, in all accounts. No token works after the commit. Where a
 * transaction is of one account (SLIPROAD_BATCH_BY=account), a task ends the consents in the other
 * accounts, whose events their applications may receive until then.
 */
export function endConsents(
  tx: Transaction,
  person_id: string,
  account_id: string | undefined,
  now: Date,
): void {
  deletePersonTokens(tx, person_id);
  // Only members consent.
  if (account_id === undefined) return;
  updateConsentsRevoked(tx, { account_id: tx.by_account ? account_id : null, person_id }, now);
  if (tx.by_account) enqueueTasks(tx, END_CONSENTS_TASK, [{ account_id, id: person_id }], now);
}

/** Ends the consents that were given meanwhile too: whose they were is not certain. */
export function endConsentsTask({ database }: Pick<ModuleCore, "database">): TaskHandler {
  return {
    kind: END_CONSENTS_TASK,
    set_max: SET_MAX,
    handle: (set) =>
      oneByOne(database, set, async (task) => {
        const person_id = task.record_id;
        for (const { account_id } of await listMemberships(database, person_id, MEMBERSHIPS_MAX)) {
          await database.transaction(async (tx) =>
            updateConsentsRevoked(tx, { account_id, person_id }, set.now),
          );
        }
        await database.transaction(async (tx) => set.finish(tx, await set.lock(tx, [task])));
      }),
  };
}
