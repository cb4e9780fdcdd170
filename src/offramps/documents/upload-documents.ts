import type { FileStore } from "../../partners/files/file-store.ts";
import type { FileType } from "../../partners/files/judge-file.ts";
import type { Command, UseCase, Verdict } from "../../platform/commands/use-case.ts";
import type { Database, Transaction } from "../../platform/db/database.ts";
import type { RecordKey } from "../../platform/db/rows.ts";
import { DAY_MS } from "../../platform/durations.ts";
import type { Keyring, SubjectKeys } from "../../platform/encryption/keyring.ts";
import { notFound, Refusal } from "../../platform/errors.ts";
import type { TaskSet } from "../../platform/tasks/task-set.ts";
import { enqueueTasks } from "../../platform/tasks/tasks.ts";
import { usersOf } from "../../users/store.ts";
import { DROP_DOCUMENT_TASK } from "../task-kinds.ts";
import { documentKey } from "./document-file.ts";
import {
  deleteUnusedDocument,
  findUploadedDocument,
  insertUploadedDocuments,
  lockUploadedDocuments,
  type UploadedDocument,
} from "./uploaded-document-store.ts";

type NewUpload = {
  user_id: string;
  id: string;
  version: string;
  hash: Buffer;
  type: FileType;
};

const UNUSED_KEPT_MS = 7 * DAY_MS;

/** Records a file that new offramps can refer to. Unused, it is deleted after 7 days. */
export function uploadDocuments(
  keyring: Keyring,
  render: (document: UploadedDocument) => string,
): UseCase<NewUpload, SubjectKeys, UploadedDocument> {
  return {
    name: "upload-documents",
    rows: () => 1,
    load: (tx, commands) => keyring.openUserKeys(tx, usersOf(commands)),
    decide: decideOne,
    record: (tx, _keys, accepted) =>
      insertUploadedDocuments(
        tx,
        accepted.map(({ output }) => output),
      ),
    render,
  };
}

/** Checks in 7 days whether an offramp refers to them: after the upload or a removed reference. */
export function dropLater(tx: Transaction, documents: readonly RecordKey[], now: Date): void {
  const due_at = new Date(now.getTime() + UNUSED_KEPT_MS);
  enqueueTasks(tx, DROP_DOCUMENT_TASK, documents, now, due_at);
}

function decideOne(
  keys: SubjectKeys,
  { account_id, input }: Command<NewUpload>,
  now: Date,
): Verdict<UploadedDocument> {
  const { user_id, id, version, hash, type } = input;
  const key = keys.get(account_id, user_id);
  if (!key) return { refusal: Refusal.of([notFound("user_id")]) };
  const document = { account_id, id, user_id, file: version, hash, type, created_at: now };
  return { output: document, subject: { subject_id: user_id, key } };
}

/** Deletes uploaded files that no offramp refers to, with their records. */
export async function dropDocuments(
  { database, files }: { database: Database; files: FileStore },
  set: TaskSet,
): Promise<void> {
  for (const task of set.tasks) {
    const key = { account_id: task.account_id, id: task.record_id };
    const document = await findUploadedDocument(database, key);
    const is_dropped = await database.transaction(async (tx) => {
      const tasks = await set.lock(tx, [task]);
      if (tasks.length === 0) return false;
      await lockUploadedDocuments(tx, [key]);
      set.finish(tx, tasks);
      return deleteUnusedDocument(tx, key);
    });
    if (document && !is_dropped) continue;
    const record = { account_id: key.account_id, record_id: key.id };
    const versions = await files.listVersions(record);
    for (const version of versions) await files.delete(documentKey(key, version));
  }
}
