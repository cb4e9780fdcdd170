import { randomUUID } from "node:crypto";
import { close, createReadStream, open as openDescriptor } from "node:fs";
import { type FileHandle, mkdir, open, readdir, rm, stat, statfs } from "node:fs/promises";
import { dirname, join } from "node:path";
import type { Readable } from "node:stream";
import { promisify } from "node:util";
import { HOUR_MS } from "../../platform/durations.ts";
import { Refusal } from "../../platform/errors.ts";
import { checkTemporaryKey, FileTooLargeError, type PutLimits } from "./file-store.ts";

const LEFTOVER_AGE_MS = HOUR_MS;
export const READ_BYTES = 64 * 1024;
/** What files leave free on their disk: the database is usually on the same one. */
export const DISK_FREE_MIN_BYTES = 500_000_000;
const DISK_LIMITS = {
  free_bytes_min: DISK_FREE_MIN_BYTES,
  /** Below this, only accounts that stored little lately may store more. */
  reserve_bytes: 4 * DISK_FREE_MIN_BYTES,
  little_bytes: 100_000_000,
};
export type DiskLimits = typeof DISK_LIMITS;
const LATELY_MS = HOUR_MS;
const NO_SPACE = "The service has no disk space left for files. Try again later.";
const NO_SPACE_RETRY_SECONDS = 60;

export type TemporaryFiles = {
  /** Rejects if the key is malformed. */
  pathOf(temporary_key: string): string;
  /** Complete and flushed to disk when this resolves; deleted when it rejects. */
  put(content: AsyncIterable<Buffer>, limits: PutLimits): Promise<string>;
  /** A copy without a name, to be read once: it is gone when it is closed, or after a crash. */
  copy(content: AsyncIterable<Buffer>): Promise<Readable>;
  /** A missing file is not an error. */
  delete(temporary_key: string): Promise<void>;
  /** Deletes files last written before this time; returns how many. */
  sweep(written_before: Date): Promise<number>;
};

/**
 * Files on this machine that are not stored yet. Leftovers of a crash are deleted here. Files are
 * refused before the disk is full: anybody with a key can upload as many as they like, and a full
 * disk would stop the database. Those who fill it are refused before the others.
 */
export async function openTemporaryFiles(
  directory: string,
  limits: DiskLimits = DISK_LIMITS,
): Promise<TemporaryFiles> {
  await createDirectory(directory);
  const pathOf = (temporary_key: string) => join(directory, checkTemporaryKey(temporary_key));
  await sweep(directory, new Date(Date.now() - LEFTOVER_AGE_MS));
  const lately = new StoredLately();
  const assertSpace = async (account_id?: string) => {
    const { bavail, bsize } = await statfs(directory);
    const free_bytes = bavail * bsize;
    const has_much = account_id !== undefined && lately.bytesOf(account_id) > limits.little_bytes;
    if (free_bytes >= (has_much ? limits.reserve_bytes : limits.free_bytes_min)) return;
    throw new Refusal("unavailable", NO_SPACE, NO_SPACE_RETRY_SECONDS);
  };
  return {
    pathOf,
    put: async (content, { bytes_max, account_id }) => {
      await assertSpace(account_id);
      const temporary_key = randomUUID();
      const bytes = await writeWhole(pathOf(temporary_key), content, bytes_max);
      if (account_id !== undefined) lately.add(account_id, bytes);
      return temporary_key;
    },
    copy: async (content) => {
      await assertSpace();
      return copyNameless(pathOf(randomUUID()), content);
    },
    delete: async (temporary_key) => rm(pathOf(temporary_key), { force: true }),
    sweep: (written_before) => sweep(directory, written_before),
  };
}

/** How much each account stored since the current hour began. */
class StoredLately {
  readonly #bytes = new Map<string, number>();
  #ends_ms = 0;

  bytesOf(account_id: string): number {
    if (performance.now() >= this.#ends_ms) {
      this.#bytes.clear();
      this.#ends_ms = performance.now() + LATELY_MS;
    }
    return this.#bytes.get(account_id) ?? 0;
  }

  add(account_id: string, bytes: number): void {
    this.#bytes.set(account_id, this.bytesOf(account_id) + bytes);
  }
}

async function writeWhole(
  path: string,
  content: AsyncIterable<Buffer>,
  bytes_max: number,
): Promise<number> {
  const file = await open(path, "wx", 0o600);
  try {
    const bytes = await writeChunks(file, content, bytes_max);
    await file.sync();
    await file.close();
    return bytes;
  } catch (error) {
    await file.close().catch(() => {});
    await rm(path, { force: true });
    throw error;
  }
}

const openPlain = promisify(openDescriptor);
const closePlain = promisify(close);

/**
 * Two descriptors: a failing stream closes the one that it was given, and closing that one here as
 * well could close another file that got its number in between. The copy is not read through a
 * FileHandle, since one that is never closed ends the process when it is collected.
 */
async function copyNameless(path: string, content: AsyncIterable<Buffer>): Promise<Readable> {
  const written = await open(path, "wx", 0o600);
  let fd: number | undefined;
  try {
    fd = await openPlain(path, "r");
    await rm(path);
    await writeChunks(written, content, Number.POSITIVE_INFINITY);
    await written.close();
    return createReadStream(path, { fd, start: 0, highWaterMark: READ_BYTES });
  } catch (error) {
    await written.close().catch(() => {});
    if (fd !== undefined) await closePlain(fd);
    throw error;
  }
}

async function writeChunks(
  file: FileHandle,
  content: AsyncIterable<Buffer>,
  bytes_max: number,
): Promise<number> {
  let bytes = 0;
  for await (const chunk of content) {
    bytes += chunk.length;
    if (bytes > bytes_max) throw new FileTooLargeError(`a file has more than ${bytes_max} bytes`);
    // writeFile on a handle continues at its position, and writes the whole chunk.
    await file.writeFile(chunk);
  }
  return bytes;
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
export async function createDirectory(path: string): Promise<void> {
  const first_made = await mkdir(path, { recursive: true, mode: 0o700 });
  if (first_made === undefined) return;
  for (let at = path; at.length >= first_made.length; at = dirname(at)) {
    await syncDirectory(dirname(at));
  }
}

export async function syncDirectory(path: string): Promise<void> {
  // Windows cannot open a directory for this; its file system keeps the order itself.
  if (process.platform === "win32") return;
  const directory = await open(path, "r");
  await directory.sync().finally(() => directory.close());
}

export function ignoreAbsent(error: unknown): undefined {
  if ((error as NodeJS.ErrnoException).code !== "ENOENT") throw error;
}
