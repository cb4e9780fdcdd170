import { actorOf } from "../../accounts/model.ts";
import type { Command, UseCase, Verdict } from "../../platform/commands/use-case.ts";
import { Refusal } from "../../platform/errors.ts";
import { newId } from "../../platform/ids.ts";
import type { Checked } from "../../platform/problems.ts";
import { enqueueTasksAt } from "../../platform/tasks/tasks.ts";
import { checkFileCount, type ExportRecord, type ExportTerms, writtenAfter } from "./model.ts";
import { countFiles, insertExport, lockExportCounts } from "./store.ts";
import { WRITE_EXPORT_TASK } from "./write-exports.ts";

type NewExport = { wanted: Checked<ExportTerms> };
/** By account; counts those that earlier commands of this set have added. */
type Loaded = Map<string, { count: number; oldest: Date | null }>;

/** Records the request; a task writes the file. */
export function createExports(
  render: (record: ExportRecord) => string,
): UseCase<NewExport, Loaded, ExportRecord> {
  return {
    name: "create-exports",
    rows: () => 1,
    load: async (tx, commands) => {
      const account_ids = [...new Set(commands.map((command) => command.account_id))];
      await lockExportCounts(tx, account_ids);
      return countFiles(tx, account_ids);
    },
    decide: decideOne,
    record: (tx, _loaded, accepted, now) => {
      const added = accepted.map(({ output }) => output);
      for (const record of added) insertExport(tx, record);
      const timed = added.map((record) => ({ ...record, due_at: writtenAfter(record, now) }));
      enqueueTasksAt(tx, WRITE_EXPORT_TASK, timed, now);
    },
    render,
  };
}

function decideOne(files: Loaded, command: Command<NewExport>, now: Date): Verdict<ExportRecord> {
  const { account_id, input } = command;
  if ("problems" in input.wanted) return { refusal: Refusal.of(input.wanted.problems) };
  const { count, oldest } = files.get(account_id) ?? { count: 0, oldest: null };
  const refusal = checkFileCount(count, oldest);
  if (refusal) return { refusal };
  files.set(account_id, { count: count + 1, oldest: oldest ?? now });
  return {
    output: newExport(account_id, input.wanted.value, actorOf(command), now),
    subject: null,
  };
}

export function newExport(
  account_id: string,
  terms: ExportTerms,
  requested_by: string,
  now: Date,
): ExportRecord {
  const { kind, format, period_from, period_to } = terms;
  return {
    account_id,
    id: newId(now),
    kind,
    format,
    period_from,
    period_to,
    requested_by,
    status: "pending",
    file: null,
    row_count: null,
    byte_count: null,
    digest: null,
    created_at: now,
    updated_at: now,
  };
}
