import { randomBytes } from "node:crypto";
import { existsSync } from "node:fs";
import { rename, rm, stat } from "node:fs/promises";
import { dirname, resolve } from "node:path";
import manifest from "../../package.json" with { type: "json" };
import { type FileKey, FileMissingError, type FileStore } from "../partners/files/file-store.ts";
import { systemTime } from "../platform/clock.ts";
import type { Config } from "../platform/config/config.ts";
import { type CopyTransaction, withCopyTransaction } from "../platform/db/copy-connection.ts";
import type { Database } from "../platform/db/database.ts";
import { KEY_BYTES } from "../platform/encryption/cipher.ts";
import type { MasterKeys } from "../platform/encryption/key-port.ts";
import { newId } from "../platform/ids.ts";
import { signingSeed } from "../platform/sealing/signing-seed.ts";
import { syncDirectory } from "../platform/secret-file.ts";
import { StartupError } from "../platform/startup-error.ts";
import { openArchive, writeArchive } from "./archive.ts";
import { checkContent, type OnPart } from "./check-content.ts";
import { fingerprintOf, keyPlace } from "./check-keys.ts";
import { BACKUP_FORMAT, type BackupHead, type Totals } from "./model.ts";
import { orderTables } from "./order-tables.ts";
import { encodeParts, type Part } from "./parts.ts";
import {
  existsNamedFile,
  listAppliedMigrations,
  listMasterKeyIds,
  listNamedFiles,
  listSequences,
  listTables,
  lockTables,
  type TableRow,
} from "./snapshot-store.ts";

type BackupDeps = {
  config: Config;
  database: Database;
  database_url: string;
  masters: MasterKeys;
  files: FileStore;
};

type BackupOptions = {
  output: string;
  /** Writes a backup although files are missing that records name. */
  skip_missing_files: boolean;
  onPart: OnPart;
};

export type CreatedBackup = {
  head: BackupHead;
  totals: Totals;
  file_bytes: number;
  /** What is wrong, one sentence for each missing file. */
  missing: string[];
};

/**
 * Writes database and files into one encrypted file, as they are at one moment, while the service
 * runs. The file is read again, whole, before it gets its name.
 */
export async function createBackup(
  deps: BackupDeps,
  { output, skip_missing_files, onPart }: BackupOptions,
): Promise<CreatedBackup> {
  const path = resolve(output);
  if (existsSync(path)) throw new StartupError(`${output} exists; choose another file.`);
  const temporary = `${path}.${randomBytes(6).toString("hex")}.partial`;
  try {
    const missing: FileKey[] = [];
    const { head, key } = await withCopyTransaction(deps.database_url, "snapshot", async (tx) => {
      const tables = orderTables(await listTables(tx));
      await lockTables(tx, tables);
      const opened = await createHead(deps, tx);
      const parts = eachPart({ ...deps, onPart, missing }, tx, tables);
      const content = encodeParts(parts, () => missing.length);
      await writeArchive(temporary, opened.head, opened.key, content).catch(sayNotWritable(output));
      return opened;
    });
    const sentences = await Promise.all(missing.map((key) => describeMissing(deps.database, key)));
    if (missing.length > 0 && !skip_missing_files) throw new StartupError(refusalOf(sentences));
    const totals = await readAgain(temporary, key, onPart);
    const { size: file_bytes } = await stat(temporary);
    await rename(temporary, path);
    syncDirectory(dirname(path));
    return { head, totals, file_bytes, missing: sentences };
  } finally {
    await rm(temporary, { force: true });
  }
}

/** A disk may have stored something else than what was written. */
async function readAgain(path: string, key: Buffer, onPart: OnPart): Promise<Totals> {
  try {
    return await checkContent(await openArchive(path), key, { onPart });
  } catch (error) {
    if (!(error instanceof StartupError)) throw error;
    throw new StartupError(
      `No backup was written: what was written cannot be read again. ${error.message}`,
    );
  }
}

async function createHead(
  { config, masters }: BackupDeps,
  tx: CopyTransaction,
): Promise<{ head: BackupHead; key: Buffer }> {
  const now = systemTime();
  const id = newId(now);
  const key = randomBytes(KEY_BYTES);
  const master_key_id = await masters.currentId();
  const wrapped = await masters.wrap(master_key_id, keyPlace(id), key);
  const head: BackupHead = {
    format: BACKUP_FORMAT,
    id,
    version: manifest.version,
    created_at: now.toISOString(),
    mode: config.mode,
    key: { master_key_id, wrapped: wrapped.toString("base64") },
    fingerprints: {
      encryption: await listMasterKeyIds(tx),
      signing: fingerprintOf(signingSeed(config)),
    },
  };
  return { head, key };
}

type PartDeps = { files: FileStore; onPart: OnPart; missing: FileKey[] };

/** Files first: the longer one waits, the more of them may have been replaced meanwhile. */
async function* eachPart(
  { files, onPart, missing }: PartDeps,
  tx: CopyTransaction,
  tables: readonly TableRow[],
): AsyncGenerator<Part> {
  const sequences = await listSequences(tx);
  const migrations = await listAppliedMigrations(tx);
  yield { head: { part: "schema", migrations, sequences }, content: nothing() };
  for await (const key of listNamedFiles(tx)) {
    const content = await files.openRead(key).catch(orNull);
    if (!content) {
      missing.push(key);
      continue;
    }
    const { account_id, record_id, version } = key;
    onPart({ step: "files", of: null });
    yield { head: { part: "file", account_id, record_id, version }, content };
  }
  for (const { name, columns } of tables) {
    onPart({ step: "tables", of: tables.length });
    yield { head: { part: "table", name, columns }, content: tx.copyOut({ name, columns }) };
  }
}

async function* nothing(): AsyncGenerator<Buffer> {}

function orNull(error: unknown): null {
  if (error instanceof FileMissingError) return null;
  throw error;
}

/** A file that no record names any more was replaced or deleted after the snapshot. */
async function describeMissing(database: Database, key: FileKey): Promise<string> {
  const { account_id, record_id, version } = key;
  const name = `File ${version} of record ${record_id} of account ${account_id}`;
  const is_named = await existsNamedFile(database, key);
  return `${name} ${is_named ? "is missing" : "was deleted while the backup was made"}.`;
}

const NAMED_MAX = 10;

function refusalOf(sentences: readonly string[]): string {
  const others = sentences.length - NAMED_MAX;
  const more = others > 0 ? ` And ${others} more.` : "";
  return (
    `No backup was written. ${sentences.slice(0, NAMED_MAX).join(" ")}${more} Run it again; ` +
    "--skip-missing-files writes a backup without them."
  );
}

function sayNotWritable(output: string) {
  return (error: NodeJS.ErrnoException): never => {
    if (error.syscall === undefined || error.code === "ECONNRESET") throw error;
    throw new StartupError(`--output ${output} cannot be written: ${error.message}`);
  };
}
