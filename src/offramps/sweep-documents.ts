import type { FileStore } from "../partners/files/file-store.ts";
import type { Database } from "../platform/db/database.ts";
import { firstIdAt } from "../platform/ids.ts";
import type { TaskSet } from "../platform/tasks/task-set.ts";
import { SWEPT_AFTER_MS } from "./attach-documents.ts";
import { documentKey } from "./document-file.ts";
import { findOfframps } from "./store.ts";

/** Removes the files that an offramp's present document has replaced. */
export async function sweepDocuments(
  { database, files }: { database: Database; files: FileStore },
  set: TaskSet,
): Promise<void> {
  // Versions are ids and carry their time; a young one may belong to an upload under way.
  const young = firstIdAt(new Date(set.now.getTime() - SWEPT_AFTER_MS));
  const keys = set.tasks.map((task) => ({ account_id: task.account_id, id: task.record_id }));
  for (const row of await findOfframps(database, keys)) {
    const { account_id, id, document_file } = row;
    const versions = await files.listVersions({ account_id, record_id: id });
    const replaced = versions.filter((version) => version !== document_file && version < young);
    for (const version of replaced) await files.delete(documentKey(row, version));
  }
  await database.transaction(async (tx) => set.finish(tx, await set.lock(tx)));
}
