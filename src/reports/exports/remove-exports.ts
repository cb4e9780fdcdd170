import { recordAudit } from "../../accounts/audit.ts";
import { actorOf } from "../../accounts/model.ts";
import { AccountMap } from "../../platform/account-map.ts";
import type { Command, UseCase, Verdict } from "../../platform/commands/use-case.ts";
import { notFound, type Problem, Refusal } from "../../platform/errors.ts";
import { enqueueTasks } from "../../platform/tasks/tasks.ts";
import type { ExportRecord } from "./model.ts";
import { lockExports, updateExport } from "./store.ts";
import { REMOVE_EXPORT_TASK } from "./write-exports.ts";

type Removal = { export_id: string; problems: readonly Problem[] };
type Removed = { record: ExportRecord; is_new: boolean };

/** Marks exports as removed; a task deletes their files. The record and its digest stay. */
export function removeExports(
  render: (record: ExportRecord) => string,
): UseCase<Removal, AccountMap<ExportRecord>, Removed> {
  return {
    name: "remove-exports",
    rows: () => 2,
    load: async (tx, commands) => {
      const keys = commands.map(({ account_id, input }) => ({ account_id, id: input.export_id }));
      return AccountMap.of(await lockExports(tx, keys), (record) => record);
    },
    decide: decideOne,
    record: (tx, _loaded, accepted, now) => {
      for (const { command, output } of accepted) {
        if (!output.is_new) continue;
        const { account_id, id, kind } = output.record;
        updateExport(tx, output.record, { status: "removed", file: null, updated_at: now });
        enqueueTasks(tx, REMOVE_EXPORT_TASK, [output.record], now);
        const actor = actorOf(command);
        const act = { account_id, actor, action: "export.remove" as const, record: `export:${id}` };
        recordAudit(tx, { ...act, reason: "", detail: { kind } }, now);
      }
    },
    render: ({ record }) => render(record),
  };
}

function decideOne(
  exports: AccountMap<ExportRecord>,
  { account_id, input }: Command<Removal>,
  now: Date,
): Verdict<Removed> {
  const record = exports.get(account_id, input.export_id);
  if (!record) return { refusal: Refusal.of([...input.problems, notFound("export_id")]) };
  if (input.problems.length > 0) return { refusal: Refusal.of(input.problems) };
  if (record.status === "removed") return { output: { record, is_new: false }, subject: null };
  const removed: ExportRecord = { ...record, status: "removed", file: null, updated_at: now };
  // A later command of the same set must see it.
  exports.set(account_id, record.id, removed);
  return { output: { record: removed, is_new: true }, subject: null };
}
