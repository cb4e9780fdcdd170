import { createWriteStream } from "node:fs";
import { pipeline } from "node:stream/promises";
import { type Command, Option } from "commander";
import type { Core } from "../app/open-core.ts";
import { READ_ALL } from "../platform/db/database.ts";
import { StartupError } from "../platform/startup-error.ts";
import { newExport } from "../reports/exports/create-exports.ts";
import {
  checkPeriod,
  EXPORT_FORMATS,
  EXPORT_KINDS,
  type ExportFormat,
  type ExportKind,
  type ExportRecord,
  writtenAfter,
} from "../reports/exports/model.ts";
import { insertExport } from "../reports/exports/store.ts";
import { writeContent } from "../reports/exports/write-content.ts";
import { auditExport } from "../reports/exports/write-exports.ts";
import { withCore } from "./context.ts";
import { findAccountOf } from "./operator.ts";
import { type JsonOption, print } from "./output.ts";

type CreateOptions = JsonOption & {
  kind: ExportKind;
  format: ExportFormat;
  from: string;
  to: string;
  account?: string;
  output: string;
};

export function addExportCommands(program: Command): void {
  const exports = program.command("exports").description("files for auditors");
  exports
    .command("create")
    .description("write payouts, ledger, deposits, audit log or approvals of a period to a file")
    .addOption(
      new Option("--kind <kind>", "what to export").choices(EXPORT_KINDS).makeOptionMandatory(),
    )
    .requiredOption("--from <time>", "first day or time, e.g. 2026-10-01")
    .requiredOption("--to <time>", "first day or time that is not included, e.g. 2026-11-01")
    .addOption(
      new Option("--format <format>", "csv or jsonl").choices(EXPORT_FORMATS).default("csv"),
    )
    .option("--account <name or id>", "the account (default: the operator's)")
    .requiredOption("--output <file>", "the file to write; it must not exist")
    .action(async (options: CreateOptions) => {
      const written = await withCore((core) => createExport(core, options));
      const { rows, digest } = written;
      print(options, { export: { ...written, file: options.output } }, [
        `Wrote ${rows} rows to ${options.output}.`,
        `SHA-256 ${digest}`,
      ]);
    });
}

async function createExport(core: Core, options: CreateOptions) {
  const { database, clock } = core;
  const now = clock.now();
  const { kind, format, from, to } = options;
  const period = checkPeriod({ from, to }, now);
  if ("problems" in period) {
    const { field, message } = period.problems[0]!;
    throw new StartupError(`--${field.replace("export.", "")}: ${message}`);
  }
  const { id: account_id } = await findAccountOf(core, options.account);
  const record = newExport(account_id, { kind, format, ...period.value }, "command line", now);
  if (writtenAfter(record, now) > now) {
    throw new StartupError("--to: Send a time that was at least a minute ago.");
  }
  // The file is the caller's: nothing is stored here, and the record says so.
  const written = await writeFile(core, record, options.output);
  await database.transaction(async (tx) => {
    insertExport(tx, { ...record, ...written, status: "removed" });
    auditExport(tx, record, written, now);
  });
  return {
    id: record.id,
    rows: Number(written.row_count),
    digest: written.digest.toString("hex"),
  };
}

function writeFile({ database }: Core, record: ExportRecord, output: string) {
  return database.transaction(async (tx) => {
    await tx.query("set transaction isolation level repeatable read, read only");
    const { content, summary } = writeContent(tx, record.account_id, record);
    const file = createWriteStream(output, { flags: "wx", mode: 0o600, flush: true });
    await pipeline(content, file).catch((error: NodeJS.ErrnoException) => {
      if (error.syscall === undefined) throw error;
      throw new StartupError(`--output ${output} cannot be written: ${error.message}`);
    });
    return summary();
  }, READ_ALL);
}
