import { createPublicKey, hash, type KeyObject, randomUUID, sign, verify } from "node:crypto";
import { open, readdir, readFile, rename, rm, stat } from "node:fs/promises";
import { dirname, join } from "node:path";
import { promisify } from "node:util";
import { zstdCompress, zstdDecompress } from "node:zlib";
import {
  createDirectory,
  ignoreAbsent,
  syncDirectory,
} from "../../partners/files/temporary-files.ts";
import { HOUR_MS } from "../../platform/durations.ts";
import { StartupError } from "../../platform/startup-error.ts";
import type { ArchivedRow, ArchiveHead } from "./model.ts";

/**
 * A file: the head as one line of JSON, the signature of that line as another, then the rows as
 * lines of JSON, compressed with zstd. The head has the digest of the rows, so that the signature
 * covers all of it. Neither time nor chance is part of it: the same rows give the same file.
 */
const FORMAT = "sliproad archive";
const VERSION = 1;
const LINE_END = 10;
/** More than a file that `sliproad archive` writes can have. */
const FILE_BYTES_MAX = 256 * 1024 * 1024;

const UNFINISHED = ".unfinished-";
/** Much longer than a file takes. */
const UNFINISHED_MAX_MS = HOUR_MS;

const compress = promisify(zstdCompress);
const decompress = promisify(zstdDecompress);

type StoredHead = Omit<ArchiveHead, "number" | "previous"> & {
  format: string;
  version: number;
  number: string;
  previous: string | null;
  rows_sha256: string;
};

/** Not a file of this installation, or one that somebody changed. */
export class WrongArchiveError extends Error {}

export function lineOf(row: ArchivedRow): string {
  return `${JSON.stringify(row)}\n`;
}

export async function encodeArchive(
  head: ArchiveHead,
  rows: readonly ArchivedRow[],
  key: KeyObject,
): Promise<{ bytes: Buffer; sha256: Buffer }> {
  const text = Buffer.from(rows.map(lineOf).join(""));
  const stored: StoredHead = {
    ...{ format: FORMAT, version: VERSION, account_id: head.account_id },
    ...{ table_name: head.table_name, number: String(head.number) },
    ...{ first_id: head.first_id, last_id: head.last_id, row_count: head.row_count },
    previous: head.previous?.toString("hex") ?? null,
    rows_sha256: hash("sha256", text, "hex"),
  };
  const line = Buffer.from(JSON.stringify(stored));
  const signature = sign(null, line, key).toString("base64");
  const content = await compress(text);
  const bytes = Buffer.concat([line, Buffer.from(`\n${signature}\n`), content]);
  return { bytes, sha256: sha256Of(bytes) };
}

export function sha256Of(bytes: Buffer): Buffer {
  return hash("sha256", bytes, "buffer");
}

/** Checks that this installation wrote the file as it is, and reads its rows. */
export async function decodeArchive(
  bytes: Buffer,
  key: KeyObject,
): Promise<{ head: ArchiveHead; rows: ArchivedRow[] }> {
  const head_end = bytes.indexOf(LINE_END);
  const signature_end = bytes.indexOf(LINE_END, head_end + 1);
  if (head_end < 0 || signature_end < 0) throw new WrongArchiveError("it is no archive");
  const line = bytes.subarray(0, head_end);
  const signature = bytes.subarray(head_end + 1, signature_end).toString();
  if (!verify(null, line, createPublicKey(key), Buffer.from(signature, "base64"))) {
    throw new WrongArchiveError("its signature was not made by this installation");
  }
  const stored = JSON.parse(line.toString()) as StoredHead;
  if (stored.format !== FORMAT || stored.version !== VERSION) {
    throw new WrongArchiveError("it has a format of another version of Sliproad");
  }
  const text = await readRows(bytes.subarray(signature_end + 1));
  if (hash("sha256", text, "hex") !== stored.rows_sha256) {
    throw new WrongArchiveError("its rows were changed");
  }
  const { format: _, version: __, rows_sha256: ___, number, previous, ...rest } = stored;
  const head = { number: BigInt(number), previous: previous && Buffer.from(previous, "hex") };
  const lines = text.toString().split("\n").slice(0, -1);
  return {
    head: { ...rest, ...head, previous: head.previous || null },
    rows: lines.map((one) => JSON.parse(one) as ArchivedRow),
  };
}

async function readRows(content: Buffer): Promise<Buffer> {
  try {
    return await decompress(content, { maxOutputLength: FILE_BYTES_MAX });
  } catch {
    throw new WrongArchiveError("its rows cannot be read");
  }
}

/** Complete and on the disk, under its name, when this resolves. */
export async function writeArchiveFile(
  directory: string,
  name: string,
  bytes: Buffer,
): Promise<void> {
  const path = join(directory, name);
  try {
    await writeDurably(path, bytes);
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    throw new StartupError(`${path} cannot be written (${code}); nothing of it was deleted.`);
  }
}

async function writeDurably(path: string, bytes: Buffer): Promise<void> {
  await createDirectory(dirname(path));
  const unfinished = join(dirname(path), `${UNFINISHED}${randomUUID()}`);
  const file = await open(unfinished, "wx", 0o600);
  try {
    await file.writeFile(bytes);
    await file.sync();
  } finally {
    await file.close();
  }
  // A file of this name has the same content: its digest is part of the name.
  await rename(unfinished, path);
  await syncDirectory(dirname(path));
}

/** Deletes what a run left that was killed while it wrote a file. */
export async function removeUnfinished(directory: string, account_id: string): Promise<void> {
  const own = join(directory, account_id);
  // What is wrong with the directory is said when a file is written.
  const names = await readdir(own).catch((): string[] => []);
  for (const name of names.filter((one) => one.startsWith(UNFINISHED))) {
    const found = await stat(join(own, name)).catch(ignoreAbsent);
    if (found === undefined || Date.now() - found.mtimeMs < UNFINISHED_MAX_MS) continue;
    await rm(join(own, name), { force: true });
  }
}

/** Null where there is no file. */
export async function readArchiveFile(path: string): Promise<Buffer | null> {
  try {
    if ((await stat(path)).size > FILE_BYTES_MAX) throw new WrongArchiveError("it is too long");
    return await readFile(path);
  } catch (error) {
    if (error instanceof WrongArchiveError) throw error;
    const { code } = error as NodeJS.ErrnoException;
    if (code === "ENOENT") return null;
    throw new WrongArchiveError(`it cannot be read (${code})`);
  }
}
