import Type from "typebox";
import { FileMissingError } from "../../partners/files/file-store.ts";
import type { Executor } from "../../platform/commands/executor.ts";
import { assertFound, notFound, type Problem, Refusal } from "../../platform/errors.ts";
import { cutPage, listAnswer, listQuery, requirePage } from "../../platform/http/list.ts";
import { compileRender } from "../../platform/http/render.ts";
import type { AddRoute } from "../../platform/http/route.ts";
import { Problems } from "../../platform/problems.ts";
import {
  closedObject,
  nullable,
  optional,
  TIME,
  titledObject,
  UUID,
} from "../../platform/schema-parts.ts";
import { createExports } from "./create-exports.ts";
import { openExportFile } from "./export-file.ts";
import {
  checkPeriod,
  EXPORT_FORMATS,
  EXPORT_KINDS,
  EXPORT_STATUSES,
  type ExportRecord,
  type ExportTerms,
} from "./model.ts";
import { removeExports } from "./remove-exports.ts";
import { findExport, listExports } from "./store.ts";
import { MEDIA_TYPES } from "./write-content.ts";
import type { ExportDeps } from "./write-exports.ts";

const TAG = "Ledger";

const ExportAnswerRecord = titledObject("Export", {
  id: UUID,
  kind: Type.Enum([...EXPORT_KINDS]),
  format: Type.Enum([...EXPORT_FORMATS]),
  from: TIME,
  to: TIME,
  status: Type.Enum([...EXPORT_STATUSES]),
  rows: nullable(Type.Integer(), "Rows of the file, without its head; null until it is ready."),
  bytes: nullable(Type.Integer(), "Size of the file; null until it is ready."),
  digest: nullable(
    Type.String(),
    "SHA-256 of the file in hexadecimal digits; null until it is ready. It is also in the audit " +
      "log, and `sliproad verify` recomputes it.",
  ),
  requested_by: Type.String({ description: "`api_key:` and its id, or `command line`." }),
  created_at: TIME,
  updated_at: TIME,
});
const ExportAnswer = Type.Object({ export: ExportAnswerRecord });
const ExportsAnswer = listAnswer("exports", ExportAnswerRecord);
const ExportsQuery = listQuery({
  status: Type.Optional(
    Type.Enum([...EXPORT_STATUSES], { description: "Only exports with this status." }),
  ),
  kind: Type.Optional(Type.Enum([...EXPORT_KINDS], { description: "Only exports of this kind." })),
});
const ExportBody = closedObject({
  export: closedObject({
    kind: Type.Enum([...EXPORT_KINDS]),
    format: optional(Type.Enum([...EXPORT_FORMATS]), "`csv` if left out."),
    from: Type.String({ description: "ISO 8601: records created at this time or later." }),
    to: optional(Type.String(), "ISO 8601: records created before this time; now if left out."),
  }),
});
const writeExport = compileRender(ExportAnswer);
const writeExports = compileRender(ExportsAnswer);

export function addExportRoutes(
  addRoute: AddRoute,
  deps: ExportDeps & { executor: Executor },
): void {
  const { database, executor, clock } = deps;
  const submit = executor.register(createExports(renderOne));
  addRoute({
    method: "POST",
    path: "/exports",
    operation: "createExport",
    summary: "Create an export",
    description:
      "A file of payouts, ledger lines, deposits, the audit log or approvals of a period of at " +
      "most 366 days, for auditors. It is written in the background, at the earliest a minute " +
      "after the end of the period, and removed after 7 days, or earlier with " +
      "`DELETE /exports/:export_id`. It has ids and no personal data. " +
      "At most 20 files per account.",
    tag: TAG,
    body: ExportBody,
    body_example: {
      export: { kind: "ledger", format: "csv", from: "2026-10-01", to: "2026-11-01" },
    },
    answer: ExportAnswer,
    errors: ["limit_exceeded"],
    handle: ({ body, problems, command }) => {
      const { kind, format, from, to } = body.export ?? {};
      const period = checkPeriod({ from, to }, clock.now());
      const found = new Problems(problems);
      if ("problems" in period) found.add(period.problems);
      const complete = found.list.length === 0 && "value" in period && kind !== undefined;
      const terms: ExportTerms | null = complete
        ? { kind, format: format ?? "csv", ...period.value }
        : null;
      return submit(command({ wanted: terms ? { value: terms } : { problems: found.list } }));
    },
  });

  addRoute({
    method: "GET",
    path: "/exports",
    operation: "listExports",
    summary: "List exports",
    description: "All exports of the account, newest first, also those whose file was removed.",
    tag: TAG,
    query: ExportsQuery,
    answer: ExportsAnswer,
    errors: [],
    handle: async ({ caller: { account_id }, query, problems }) => {
      const page = requirePage(query, problems);
      const { status, kind } = query;
      const found = await listExports(database, { account_id, status, kind }, page);
      const { rows, has_more } = cutPage(found, page);
      return writeExports({ exports: rows.map(toRecord), has_more });
    },
  });
  addReadRoutes(addRoute, deps);
  addRemoveRoute(addRoute, executor);
}

function addRemoveRoute(addRoute: AddRoute, executor: Executor): void {
  const submit = executor.register(removeExports(renderOne));
  addRoute({
    method: "DELETE",
    path: "/exports/:export_id",
    operation: "deleteExport",
    summary: "Remove the file of an export",
    description:
      "Deletes the file before its 7 days are over, or cancels an export whose file is not " +
      "written yet. The export stays listed as `removed`, with its digest. Returns the export; " +
      "one that was removed already stays as it is.",
    tag: TAG,
    answer: ExportAnswer,
    errors: [],
    handle: ({ params, problems, command }) =>
      submit(command({ export_id: params.export_id, problems })),
  });
}

function addReadRoutes(addRoute: AddRoute, deps: ExportDeps): void {
  const { database } = deps;
  const load = async (
    account_id: string,
    id: string,
    problems: readonly Problem[],
  ): Promise<ExportRecord> => {
    const record = await findExport(database, { account_id, id });
    assertFound(record, "export_id", problems);
    return record;
  };

  addRoute({
    method: "GET",
    path: "/exports/:export_id",
    operation: "showExport",
    summary: "Show an export",
    description: "Its status and, once the file is ready, the file's size and digest.",
    tag: TAG,
    answer: ExportAnswer,
    errors: [],
    handle: async ({ caller: { account_id }, params, problems }) =>
      writeExport({ export: toRecord(await load(account_id, params.export_id, problems)) }),
  });

  addRoute({
    method: "GET",
    path: "/exports/:export_id/file",
    operation: "downloadExport",
    summary: "Download an export",
    description: "The file as an attachment. 404 until it is ready, and after it was removed.",
    tag: TAG,
    answer: Type.String(),
    file_types: Object.values(MEDIA_TYPES),
    errors: [],
    handle: async ({ caller: { account_id }, params, problems }) => {
      const record = await load(account_id, params.export_id, problems);
      const { kind, format, id } = record;
      if (record.file === null) throw noFile(record);
      const { openDownload } = deps.files;
      const file = await openExportFile(deps, database, record, record.file, openDownload).catch(
        (error) => {
          throw error instanceof FileMissingError ? noFile(record) : error;
        },
      );
      const file_name = `${kind}-${id}.${format}`;
      return { file, media_type: `${MEDIA_TYPES[format]}; charset=utf-8`, file_name };
    },
  });
}

function noFile({ status }: ExportRecord): Refusal {
  const message =
    status === "pending"
      ? "The file is not written yet; ask again when the export's status is ready."
      : "The file was removed; create the export again.";
  return Refusal.of([{ ...notFound("export_id"), message }]);
}

function renderOne(record: ExportRecord): string {
  return writeExport({ export: toRecord(record) });
}

function toRecord(record: ExportRecord) {
  const { id, kind, format, status, requested_by, row_count, byte_count, digest } = record;
  return {
    id,
    kind,
    format,
    from: record.period_from.toISOString(),
    to: record.period_to.toISOString(),
    status,
    rows: row_count === null ? null : Number(row_count),
    bytes: byte_count === null ? null : Number(byte_count),
    digest: digest?.toString("hex") ?? null,
    requested_by,
    created_at: record.created_at.toISOString(),
    updated_at: record.updated_at.toISOString(),
  };
}
