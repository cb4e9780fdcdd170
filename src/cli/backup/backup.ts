import type { Command } from "commander";
import type { OnPart } from "../../backup/check-content.ts";
import { type CreatedBackup, createBackup } from "../../backup/create-backup.ts";
import { openBackup } from "../../backup/open-backup.ts";
import { type RestoredBackup, restoreBackup } from "../../backup/restore-backup.ts";
import { openFiles } from "../../partners/files/open-files.ts";
import { readConfig } from "../../platform/config/config.ts";
import { withCore, withNewDatabase } from "../context.ts";
import { type JsonOption, print } from "../output.ts";
import { type Progress, withProgress } from "../progress.ts";

type BackupOptions = JsonOption & { output: string; skipMissingFiles?: boolean };
type RestoreOptions = JsonOption & { input: string };

export function addBackupCommands(program: Command): void {
  program
    .command("backup")
    .description("write database and files into one encrypted file, while the service runs")
    .requiredOption("--output <file>", "the file to write; it must not exist")
    .option("--skip-missing-files", "although files are missing that records name")
    .action(async (options: BackupOptions) => {
      const { output, skipMissingFiles: skip_missing_files = false } = options;
      const created = await withProgress(options, (progress) =>
        withCore(async (core) => {
          const files = await openFiles(core.config);
          const onPart = countingOn(progress);
          return createBackup({ ...core, files }, { output, skip_missing_files, onPart });
        }),
      );
      print(options, { backup: { file: output, ...factsOf(created) } }, describe(output, created));
    });

  program
    .command("restore")
    .description("load a backup into an empty database; payouts are on hold then")
    .requiredOption("--input <file>", "a file that sliproad backup has written")
    .action(async (options: RestoreOptions) => {
      const config = readConfig(process.env);
      const restored = await withProgress(options, async (progress) => {
        const onPart = countingOn(progress);
        const backup = await openBackup(config, options.input, onPart);
        return withNewDatabase(config, (database_url) =>
          restoreBackup(backup, { config, database_url, onPart }),
        );
      });
      const has_chains = config.chains_file !== undefined;
      print(options, { restored: factsOf(restored) }, describeRestored(restored, has_chains));
    });
}

function countingOn(progress: Progress): OnPart {
  const done = new Map<string, number>();
  return ({ step, of }) => {
    const before = done.get(step) ?? 0;
    done.set(step, before + 1);
    progress.show({ done: before, total: of ?? 0, unit: step });
  };
}

function factsOf({ head, totals, ...others }: CreatedBackup | RestoredBackup) {
  const { id, version, created_at, mode, fingerprints } = head;
  return { id, version, created_at, mode, fingerprints, ...totals, ...others };
}

const MEGABYTE = 1024 ** 2;

function describe(output: string, { head, totals, file_bytes, missing }: CreatedBackup): string[] {
  const { encryption, signing } = head.fingerprints;
  return [
    `Wrote and checked ${output}: ${totals.rows} rows of ${totals.tables} tables, ` +
      `${totals.files} files, ${(file_bytes / MEGABYTE).toFixed(1)} MB.`,
    `It needs the encryption key ${encryption.join(", ")} and the signing key ${signing}.`,
    ...missing,
  ];
}

function describeRestored({ head, totals }: RestoredBackup, has_chains: boolean): string[] {
  const missing = totals.missing_files;
  return [
    `Restored the backup of ${head.created_at}: ${totals.rows} rows of ${totals.tables} tables, ` +
      `${totals.files} files.`,
    ...(missing > 0 ? [`${missing} files were missing when the backup was made.`] : []),
    ...(has_chains
      ? ["Before the start: sliproad wallet skip, with more than were issued since."]
      : []),
    "Payouts are on hold. Start Sliproad, let it read statements and chains, then run " +
      "sliproad verify and sliproad payouts release; see docs/guides/runbook.md.",
  ];
}
