import type { Database } from "../platform/db/database.ts";
import { FIRST_ID } from "../platform/ids.ts";
import type { TaskHandler } from "../platform/tasks/run-set.ts";
import { SlowWork } from "../platform/tasks/slow-work.ts";
import type { UserKey } from "../users/store.ts";
import { updateAnswersErased } from "../webhooks/redelivery-store.ts";
import { CLEAR_TRACES_TASK } from "./record-erasure.ts";
import { EVENTED_TABLES, listRecordIds, updateReferencesErased } from "./store.ts";

/** A record has several events, each sent to up to fifty applications. */
const RECORDS_AT_ONCE = 100;
/** Users with many records: an account has one of them at a time. */
const SLOW_LIMITS = { per_account: 1, of_all: 4 };

/**
 * Deletes what an erased person's key did not seal: references that payouts are found by, and what
 * receivers of webhooks answered. In parts, and not with the erasure: a user may have any number of
 * payouts, and the user is locked then.
 */
export function clearTracesTask(database: Database): TaskHandler {
  const slow = new SlowWork(SLOW_LIMITS);
  return {
    kind: CLEAR_TRACES_TASK,
    set_max: 1,
    handle: async (set) => {
      const [task] = await slow.putOff(database, set);
      if (!task) return;
      const onSlow = () => {
        if (slow.isRoomLeft) set.leavePlace();
      };
      const { account_id, record_id: user_id } = task;
      await slow.count(account_id, onSlow, () => clearTraces(database, { account_id, user_id }));
      await database.transaction(async (tx) => set.finish(tx, await set.lock(tx)));
    },
  };
}

/** After an interruption it starts over: what is cleared already is left unchanged. */
async function clearTraces(database: Database, key: UserKey): Promise<void> {
  const { account_id, user_id } = key;
  await database.transaction(async (tx) => updateAnswersErased(tx, account_id, [user_id]));
  for (const table of EVENTED_TABLES) {
    let ids: string[];
    let after_id = FIRST_ID;
    do {
      ids = await listRecordIds(database, table, key, after_id, RECORDS_AT_ONCE);
      await database.transaction(async (tx) => {
        if (table === "offramps") updateReferencesErased(tx, account_id, ids);
        updateAnswersErased(tx, account_id, ids);
      });
      after_id = ids.at(-1) ?? after_id;
    } while (ids.length === RECORDS_AT_ONCE);
  }
}
