import type { Command } from "commander";
import type { Core } from "../app/open-core.ts";
import { signingKey } from "../platform/sealing/seal.ts";
import { findSigningSeed, signingSeed } from "../platform/sealing/signing-seed.ts";
import { StartupError } from "../platform/startup-error.ts";
import {
  decodeArchive,
  readArchiveFile,
  WrongArchiveError,
} from "../retention/archives/archive-file.ts";
import { type Archived, archiveRecords } from "../retention/archives/archive-records.ts";
import type { ArchivedRow, ArchiveHead } from "../retention/archives/model.ts";
import { openArchived } from "../retention/archives/open-archived.ts";
import { withCore } from "./context.ts";
import { type JsonOption, print, printable } from "./output.ts";
import { withProgress } from "./progress.ts";

type Options = JsonOption & { to?: string; show?: string };

export function addArchiveCommand(program: Command): void {
  program
    .command("archive")
    .description("move webhook deliveries and events past their retention into files")
    .option("--to <directory>", "where to write the files; may be repeated, also after a crash")
    .option("--show <file>", "only print the rows of this file, decrypted where keys still exist")
    .action(async (options: Options) => {
      if (options.show !== undefined) return show(options, options.show);
      if (options.to === undefined) {
        throw new StartupError("Pass --to and a directory, or --show and a file.");
      }
      const directory = options.to;
      const archived = await withProgress(options, (progress) =>
        withCore((core) =>
          archive(core, directory, ({ accounts_done, accounts, files }) =>
            progress.show({
              done: accounts_done,
              total: accounts,
              unit: "accounts",
              note: `${files} files written`,
            }),
          ),
        ),
      );
      print(options, { archived: { directory, ...archived } }, [describe(directory, archived)]);
    });
}

function archive(
  { config, database, clock }: Core,
  directory: string,
  onProgress: NonNullable<Parameters<typeof archiveRecords>[1]["onProgress"]>,
): Promise<Archived> {
  if (config.retention !== "archive") {
    throw new StartupError(
      "SLIPROAD_RETENTION is delete: the service deletes old data itself. Set it to archive, for " +
        "the service too.",
    );
  }
  const key = signingKey(signingSeed(config));
  return archiveRecords({ database, config, key }, { directory, now: clock.now(), onProgress });
}

const MEGABYTE = 1024 ** 2;

function describe(directory: string, { files, rows, bytes }: Archived): string {
  if (files === 0) return "Nothing is past its retention.";
  const size = `${(bytes / MEGABYTE).toFixed(1)} MB`;
  const into = files === 1 ? "1 file" : `${files} files`;
  return `Moved ${rows} rows into ${into} in ${directory}, ${size}.`;
}

async function show(options: JsonOption, path: string): Promise<void> {
  const { head, rows } = await withCore(async ({ config, database, keyring }) => {
    const { head, rows } = await readFile(path, signingKey(requireSeed(findSigningSeed(config))));
    return { head, rows: await openArchived(database, keyring, head, rows) };
  });
  const lines = rows.map((row) => printable(JSON.stringify(row)));
  print(options, { table: head.table_name, account_id: head.account_id, rows }, lines);
}

function requireSeed(seed: Buffer | null): Buffer {
  if (seed) return seed;
  throw new StartupError("SLIPROAD_SIGNING_KEY is needed: it signed the file.");
}

async function readFile(
  path: string,
  key: ReturnType<typeof signingKey>,
): Promise<{ head: ArchiveHead; rows: ArchivedRow[] }> {
  try {
    const bytes = await readArchiveFile(path);
    if (bytes === null) throw new StartupError(`${path} does not exist.`);
    return await decodeArchive(bytes, key);
  } catch (error) {
    if (!(error instanceof WrongArchiveError)) throw error;
    throw new StartupError(`${path} cannot be shown: ${error.message}.`);
  }
}
