import { randomUUID } from "node:crypto";
import { once } from "node:events";
import { createReadStream } from "node:fs";
import { type FileHandle, mkdir, open, readdir, rename, rm, stat, unlink } from "node:fs/promises";
import { dirname, join } from "node:path";
import { HOUR_MS } from "../../platform/durations.ts";
import { ensureDataDir } from "../../platform/instance.ts";
import {
  checkFileKey,
  checkRecord,
  checkTemporaryKey,
  type FileKey,
  FileMissingError,
  type FileStore,
  FileTooLargeError,
} from "./file-store.ts";

const LEFTOVER_AGE_MS = HOUR_MS;
const READ_BYTES = 64 * 1024;

/**
 * Files under `<data_dir>/files/`, readable by the service's own user only. Everything is written
 * to a temporary name, flushed to disk and renamed; the directories are flushed too, so that a file
 * whose promotion was confirmed survives a power failure.
 */
export async function openLocalDirectory(data_dir: string): Promise<FileStore> {
  const root = join(await ensureDataDir(data_dir), "files");
  const temporary = join(root, "temporary");
  await createDirectory(temporary);
  const store: FileStore = {
    putTemporary: async (content, { bytes_max }) => {
      const temporary_key = randomUUID();
      await writeWhole(join(temporary, temporary_key), content, bytes_max);
      return { temporary_key };
    },
    promote: (temporary_key, key) =>
      promote(join(temporary, checkTemporaryKey(temporary_key)), pathOf(root, key)),
    deleteTemporary: (temporary_key) =>
      rm(join(temporary, checkTemporaryKey(temporary_key)), { force: true }),
    sweepTemporaries: (written_before) => sweep(temporary, written_before),
    openRead: async (key) => {
      // Not of a FileHandle: one that is never closed ends the process when it is collected.
      const stream = createReadStream(pathOf(root, key), { highWaterMark: READ_BYTES });
      await once(stream, "open").catch(throwMissing);
      return stream;
    },
    delete: async (key) => {
      const path = pathOf(root, key);
      await unlink(path).then(() => syncDirectory(dirname(path)), ignoreAbsent);
    },
    listVersions: async (record) => {
      const names = await readdir(recordDirectory(root, record)).catch(ignoreAbsent);
      return names ?? [];
    },
  };
  await store.sweepTemporaries(new Date(Date.now() - LEFTOVER_AGE_MS));
  return store;
}

async function writeWhole(
  path: string,
  content: AsyncIterable<Buffer>,
  bytes_max: number,
): Promise<void> {
  const file = await open(path, "wx", 0o600);
  try {
    await writeChunks(file, content, bytes_max);
    await file.sync();
    await file.close();
  } catch (error) {
    await file.close().catch(() => {});
    await rm(path, { force: true });
    throw error;
  }
}

async function writeChunks(
  file: FileHandle,
  content: AsyncIterable<Buffer>,
  bytes_max: number,
): Promise<void> {
  let bytes = 0;
  for await (const chunk of content) {
    bytes += chunk.length;
    if (bytes > bytes_max) throw new FileTooLargeError(`a file has more than ${bytes_max} bytes`);
    // writeFile on a handle continues at its position, and writes the whole chunk.
    await file.writeFile(chunk);
  }
}

async function promote(from: string, to: string): Promise<void> {
  await createDirectory(dirname(to));
  try {
    await rename(from, to);
  } catch (error) {
    ignoreAbsent(error);
    // Repeated after a crash: it was already done. Otherwise the temporary file is missing.
    await stat(to).catch(throwMissing);
  }
  await syncDirectory(dirname(to));
}

async function sweep(directory: string, written_before: Date): Promise<number> {
  let swept = 0;
  for (const name of await readdir(directory)) {
    const path = join(directory, name);
    const found = await stat(path).catch(ignoreAbsent);
    if (!found || found.mtime >= written_before) continue;
    await rm(path, { force: true });
    swept += 1;
  }
  return swept;
}

/** Creates a directory and its parents, and flushes each new entry. */
async function createDirectory(path: string): Promise<void> {
  const first_made = await mkdir(path, { recursive: true, mode: 0o700 });
  if (first_made === undefined) return;
  for (let at = path; at.length >= first_made.length; at = dirname(at)) {
    await syncDirectory(dirname(at));
  }
}

async function syncDirectory(path: string): Promise<void> {
  // Windows cannot open a directory for this; its file system keeps the order itself.
  if (process.platform === "win32") return;
  const directory = await open(path, "r");
  await directory.sync().finally(() => directory.close());
}

function pathOf(root: string, key: FileKey): string {
  return join(recordDirectory(root, checkFileKey(key)), key.version);
}

/** One level by the last letters of the id, which are random: limits the size of directories. */
function recordDirectory(root: string, record: Omit<FileKey, "version">): string {
  const { account_id, record_id } = checkRecord(record);
  return join(root, account_id, record_id.slice(-2), record_id);
}

function throwMissing(error: unknown): never {
  if ((error as NodeJS.ErrnoException).code !== "ENOENT") throw error;
  throw new FileMissingError("there is no such file", { cause: error });
}

function ignoreAbsent(error: unknown): undefined {
  if ((error as NodeJS.ErrnoException).code !== "ENOENT") throw error;
}
