import { once } from "node:events";
import { createReadStream } from "node:fs";
import { readdir, rename, stat, unlink } from "node:fs/promises";
import { dirname, join } from "node:path";
import type { Readable } from "node:stream";
import { ensureDataDir } from "../../platform/instance.ts";
import {
  checkFileKey,
  checkRecord,
  type FileKey,
  FileMissingError,
  type FileStore,
} from "./file-store.ts";
import {
  createDirectory,
  type DiskLimits,
  ignoreAbsent,
  openTemporaryFiles,
  READ_BYTES,
  syncDirectory,
} from "./temporary-files.ts";

/**
 * Files under `<data_dir>/files/`, readable by the service's own user only. Everything is written
 * to a temporary name, flushed to disk and renamed; the directories are flushed too, so that a file
 * whose promotion was confirmed survives a power failure.
 */
export async function openLocalDirectory(
  data_dir: string,
  disk_limits?: DiskLimits,
): Promise<FileStore> {
  const root = join(await ensureDataDir(data_dir), "files");
  const temporary = await openTemporaryFiles(join(root, "temporary"), disk_limits);
  return {
    putTemporary: async (content, limits) => {
      return { temporary_key: await temporary.put(content, limits) };
    },
    promote: (temporary_key, key) => promote(temporary.pathOf(temporary_key), pathOf(root, key)),
    deleteTemporary: temporary.delete,
    sweepTemporaries: temporary.sweep,
    openRead: (key) => openRead(pathOf(root, key)),
    // A slow client occupies nothing but an open file.
    openDownload: (key) => openRead(pathOf(root, key)),
    delete: async (key) => {
      const path = pathOf(root, key);
      await unlink(path).then(() => syncDirectory(dirname(path)), ignoreAbsent);
    },
    listVersions: async (record) => {
      const names = await readdir(recordDirectory(root, record)).catch(ignoreAbsent);
      return names ?? [];
    },
  };
}

async function openRead(path: string): Promise<Readable> {
  // Not of a FileHandle: one that is never closed ends the process when it is collected.
  const stream = createReadStream(path, { highWaterMark: READ_BYTES });
  await once(stream, "open").catch(throwMissing);
  return stream;
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
