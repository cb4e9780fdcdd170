import type { Database } from "../platform/db/database.ts";
import type { Keyring } from "../platform/encryption/keyring.ts";
import type { TaskSet } from "../platform/tasks/task-set.ts";
import { changeOnramp, recordChanges } from "./record-changes.ts";
import { lockOnramps, openOnramps } from "./store.ts";

/** Fails onramps that were not paid in time. Nothing was received, so nothing is posted. */
export function expireOnramps(
  { database, keyring }: { database: Database; keyring: Keyring },
  set: TaskSet,
): Promise<void> {
  return database.transaction(async (tx) => {
    const tasks = await set.lock(tx);
    const keys = tasks.map((task) => ({ account_id: task.account_id, id: task.record_id }));
    const entries = await openOnramps(tx, keyring, await lockOnramps(tx, keys));
    const status_message = "No deposit arrived within 7 days. Create a new onramp.";
    const changes = entries
      .filter(({ onramp }) => onramp.status === "initiated")
      .map((entry) => changeOnramp(entry, { status: "failed", status_message }, set.now));
    recordChanges(tx, changes, set.now);
    set.finish(tx, tasks);
  });
}
