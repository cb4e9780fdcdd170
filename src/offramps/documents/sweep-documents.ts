import type { FileStore } from "../../partners/files/file-store.ts";
import { AccountMap } from "../../platform/account-map.ts";
import type { Database } from "../../platform/db/database.ts";
import { firstIdAt } from "../../platform/ids.ts";
import type { TaskSet } from "../../platform/tasks/task-set.ts";
import { findOfframps } from "../store.ts";
import { SWEPT_AFTER_MS } from "./attach-documents.ts";
import { documentKey } from "./document-file.ts";

/** Deletes files that an offramp's current document replaced; of a removed offramp, all. */
export async function sweepDocuments(
  { database, files }: { database: Database; files: FileStore },
  set: TaskSet,
): Promise<void> {
  // Versions are ids with a timestamp; a recent one may belong to an upload in progress.
  const young = firstIdAt(new Date(set.now.getTime() - SWEPT_AFTER_MS));
  const named = set.tasks.map((task) => ({ account_id: task.account_id, id: task.record_id }));
  // Each upload has a task: once is enough for all of a record.
  const keys = [...AccountMap.of(named, (key) => key).values()];
  const rows = await findOfframps(database, keys);
  for (const key of keys) {
    const row = rows.find(({ account_id, id }) => account_id === key.account_id && id === key.id);
    const versions = await files.listVersions({ account_id: key.account_id, record_id: key.id });
    // For a removed offramp, delete everything.
    const replaced = row
      ? versions.filter((version) => version !== row.document_file && version < young)
      : versions;
    for (const version of replaced) await files.delete(documentKey(key, version));
  }
  await database.transaction(async (tx) => set.finish(tx, await set.lock(tx)));
}
