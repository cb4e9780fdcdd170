import type { Database, Transaction } from "../platform/db/database.ts";
import type { RecordKey } from "../platform/db/rows.ts";
import type { TaskHandler } from "../platform/tasks/run-set.ts";
import { runProposalKind } from "./model.ts";
import { insertChecks, insertRuns, listPendingOf } from "./pending-store.ts";

const CHECK_PROPOSALS_TASK = "check-proposals";

/**
 * These records changed or ended: their pending proposals are compared again with what was
 * proposed, and become void at once instead of waiting for votes on something else.
 */
export function checkProposals(tx: Transaction, records: readonly RecordKey[], now: Date): void {
  if (records.length > 0) insertChecks(tx, CHECK_PROPOSALS_TASK, records, now);
}

/** Passes each pending proposal of a record to the task of its kind, which knows its content. */
export function checkProposalsTask({ database }: { database: Database }): TaskHandler {
  return {
    kind: CHECK_PROPOSALS_TASK,
    set_max: 50,
    handle: async (set) => {
      await database.transaction(async (tx) => {
        const tasks = await set.lock(tx);
        const records = tasks.map(({ account_id, record_id: id }) => ({ account_id, id }));
        const found = await Promise.all(records.map((record) => listPendingOf(tx, record)));
        // One task per proposal, however often its record changes until the task runs.
        for (const [kind, pending] of Map.groupBy(found.flat(), (one) => one.kind)) {
          insertRuns(tx, runProposalKind(kind), pending, set.now);
        }
        set.finish(tx, tasks);
      });
    },
  };
}
