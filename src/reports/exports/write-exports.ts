import { recordAudit } from "../../accounts/audit.ts";
import type { Actor } from "../../accounts/model.ts";
import type { FileStore } from "../../partners/files/file-store.ts";
import type { Clock } from "../../platform/clock.ts";
import { type Database, READ_ALL, type Transaction } from "../../platform/db/database.ts";
import type { RecordKey } from "../../platform/db/rows.ts";
import { SECOND_MS } from "../../platform/durations.ts";
import type { Keyring } from "../../platform/encryption/keyring.ts";
import { newId } from "../../platform/ids.ts";
import type { TaskHandler } from "../../platform/tasks/run-set.ts";
import type { TaskSet } from "../../platform/tasks/task-set.ts";
import { enqueueTasks } from "../../platform/tasks/tasks.ts";
import { exportFileKey, storeExportFile } from "./export-file.ts";
import { type ExportRecord, FILE_KEPT_MS } from "./model.ts";
import { findExport, lockExports, updateExport } from "./store.ts";
import { type ContentSummary, writeContent } from "./write-content.ts";

export const WRITE_EXPORT_TASK = "write-export";
export const REMOVE_EXPORT_TASK = "remove-export";

export type ExportDeps = { database: Database; clock: Clock; keyring: Keyring; files: FileStore };

/** Each reads its own snapshot of the database, which may take minutes. */
const WRITTEN_AT_ONCE = 3;
/** How long an export waits before it looks again whether another one of its account is written. */
const TURN_MS = 2 * SECOND_MS;

/** At most one export of an account is written at a time: many of one delay no other's. */
export function exportTasks(deps: ExportDeps): TaskHandler[] {
  const writing = new Set<string>();
  const handle = async (set: TaskSet) => {
    const account_id = set.tasks[0]?.account_id;
    if (account_id === undefined) return;
    if (writing.has(account_id)) return waitForTurn(deps, set);
    writing.add(account_id);
    await writeExports(deps, set).finally(() => writing.delete(account_id));
  };
  return [
    { kind: WRITE_EXPORT_TASK, set_max: 1, sets_at_once: WRITTEN_AT_ONCE, handle },
    { kind: REMOVE_EXPORT_TASK, set_max: 10, handle: (set) => removeFiles(deps, set) },
  ];
}

async function waitForTurn({ database }: ExportDeps, set: TaskSet): Promise<void> {
  const due_at = new Date(set.now.getTime() + TURN_MS);
  await database.transaction(async (tx) => set.postpone(tx, await set.lock(tx), due_at));
}

async function writeExports(deps: ExportDeps, set: TaskSet): Promise<void> {
  for (const task of set.tasks) {
    const record = await findExport(deps.database, keyOf(task));
    const written = record?.status === "pending" ? await writeExport(deps, record) : null;
    await deps.database.transaction(async (tx) => {
      const tasks = await set.lock(tx, [task]);
      if (record && written && tasks.length > 0) {
        const [locked] = await lockExports(tx, [record]);
        if (locked?.status === "pending") recordWritten(tx, record, written, set.now);
        // It was removed while its file was written.
        else enqueueTasks(tx, REMOVE_EXPORT_TASK, [record], set.now);
      }
      set.finish(tx, tasks);
    });
  }
}

type Written = ContentSummary & { file: string };

/** Writes the file of an export from one snapshot. A file that is not recorded is removed later. */
function writeExport(deps: ExportDeps, record: ExportRecord): Promise<Written> {
  const { database, clock } = deps;
  return database.transaction(async (tx) => {
    await tx.query("set transaction isolation level repeatable read, read only");
    const { content, summary } = writeContent(tx, record.account_id, record);
    const version = newId(clock.now());
    await storeExportFile(deps, tx, record, { version, content });
    return { ...summary(), file: version };
  }, READ_ALL);
}

function recordWritten(
  tx: Transaction,
  record: ExportRecord,
  { file, ...summary }: Written,
  now: Date,
): void {
  updateExport(tx, record, { status: "ready", file, ...summary, updated_at: now });
  auditExport(tx, record, summary, now);
  enqueueTasks(tx, REMOVE_EXPORT_TASK, [record], now, new Date(now.getTime() + FILE_KEPT_MS));
}

/** The digest is also in the sealed audit log: `verify` compares both with the file. */
export function auditExport(
  tx: Transaction,
  record: ExportRecord,
  summary: ContentSummary,
  now: Date,
): void {
  const { account_id, id } = record;
  recordAudit(
    tx,
    {
      account_id,
      actor: record.requested_by as Actor,
      action: EXPORT_ACTION,
      record: `export:${id}`,
      reason: "",
      detail: exportDetail(record, summary),
    },
    now,
  );
}

export const EXPORT_ACTION = "export.write";

/** What the audit log says about a file. */
export function exportDetail(
  { kind, format, period_from, period_to }: ExportRecord,
  { row_count, digest }: Pick<ContentSummary, "row_count" | "digest">,
) {
  return {
    kind,
    format,
    from: period_from.toISOString(),
    to: period_to.toISOString(),
    rows: String(row_count),
    digest: digest.toString("hex"),
  };
}

async function removeFiles({ database, files }: ExportDeps, set: TaskSet): Promise<void> {
  for (const task of set.tasks) {
    const record = keyOf(task);
    const { account_id, id } = record;
    for (const version of await files.listVersions({ account_id, record_id: id })) {
      await files.delete(exportFileKey(record, version));
    }
  }
  await database.transaction(async (tx) => {
    const tasks = await set.lock(tx);
    for (const record of await lockExports(tx, tasks.map(keyOf))) {
      if (record.status === "removed") continue;
      updateExport(tx, record, { status: "removed", file: null, updated_at: set.now });
    }
    set.finish(tx, tasks);
  });
}

function keyOf({ account_id, record_id }: { account_id: string; record_id: string }): RecordKey {
  return { account_id, id: record_id };
}
