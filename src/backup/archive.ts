import { createHash } from "node:crypto";
import { createReadStream, createWriteStream } from "node:fs";
import { open } from "node:fs/promises";
import { pipeline as connect, Readable } from "node:stream";
import { pipeline } from "node:stream/promises";
import { createZstdCompress, createZstdDecompress } from "node:zlib";
import { DecryptionError, type Place } from "../platform/encryption/cipher.ts";
import { openStream, sealStream } from "../platform/encryption/sealed-stream.ts";
import { StartupError } from "../platform/startup-error.ts";
import { BACKUP_FORMAT, type BackupHead, type Totals } from "./model.ts";
import { decodeParts, MalformedBackup, type Part } from "./parts.ts";

/**
 * The file: MAGIC, 4 bytes length of the head, the head as JSON, and the content, which is
 * compressed and then encrypted in frames (`sealStream`). The frames are bound to the head.
 */
const MAGIC = Buffer.from("sliproad backup\n");
const LENGTH_BYTES = 4;
const HEAD_BYTES_MAX = 1024 * 1024;

export type Archive = { path: string; head: BackupHead; place: Place; content_start: number };

/** Writes a file that must not exist; it is on the disk when this resolves. */
export async function writeArchive(
  path: string,
  head: BackupHead,
  key: Buffer,
  content: AsyncIterable<Buffer>,
): Promise<void> {
  const bytes = Buffer.from(JSON.stringify(head));
  const length = Buffer.alloc(LENGTH_BYTES);
  length.writeUInt32BE(bytes.length);
  const file = createWriteStream(path, { flags: "wx", mode: 0o600, flush: true });
  file.write(Buffer.concat([MAGIC, length, bytes]));
  const seal = sealStream(key, placeOf(bytes));
  await pipeline(Readable.from(content), createZstdCompress(), seal, file);
}

/** Reads the part that is not encrypted. */
export async function openArchive(path: string): Promise<Archive> {
  const file = await open(path, "r").catch((error: NodeJS.ErrnoException) => {
    throw new StartupError(`${path} cannot be read (${error.code}).`);
  });
  try {
    const start = await readExactly(file, 0, MAGIC.length + LENGTH_BYTES);
    const length = start?.subarray(0, -LENGTH_BYTES).equals(MAGIC)
      ? start.readUInt32BE(MAGIC.length)
      : Infinity;
    const content_start = MAGIC.length + LENGTH_BYTES + length;
    const bytes =
      length <= HEAD_BYTES_MAX
        ? await readExactly(file, MAGIC.length + LENGTH_BYTES, length)
        : null;
    const head = bytes && parseHead(bytes);
    if (!head) throw new StartupError(`${path} is not a backup of Sliproad.`);
    if (head.format !== BACKUP_FORMAT) {
      throw new StartupError(
        `${path} was written by Sliproad ${head.version}; restore it with that version.`,
      );
    }
    return { path, head, place: placeOf(bytes), content_start };
  } catch (error) {
    throw inSentence(path, error);
  } finally {
    await file.close();
  }
}

/** The parts of a backup, as they are read; fails with a sentence if anything was changed. */
export async function* readParts(
  { path, place, content_start }: Archive,
  key: Buffer,
  onTotals: (totals: Totals) => void,
): AsyncGenerator<Part> {
  const file = createReadStream(path, { start: content_start });
  // An error on either end destroys all of them, and is thrown where they are read.
  const content = connect(file, openStream(key, place), createZstdDecompress(), () => {});
  try {
    for await (const part of decodeParts(content, onTotals)) {
      yield { head: part.head, content: readContent(path, part) };
    }
  } catch (error) {
    throw inSentence(path, error);
  } finally {
    content.destroy();
  }
}

/** Whoever reads a part gets the error of the file there, and not where parts are read. */
async function* readContent(path: string, { content }: Part): AsyncGenerator<Buffer> {
  try {
    yield* content;
  } catch (error) {
    throw inSentence(path, error);
  }
}

/** An error of the file as a person can use it; others are ours and stay as they are. */
function inSentence(path: string, error: unknown): unknown {
  if (error instanceof DecryptionError || error instanceof MalformedBackup) {
    return new StartupError(`${path} was changed or is not whole: ${error.message}.`);
  }
  const { code } = error as NodeJS.ErrnoException;
  // Of the file system, or of the compression.
  return typeof code === "string" ? new StartupError(`${path} cannot be read (${code}).`) : error;
}

/** Names the head by its digest: the content of one backup cannot be put behind another head. */
function placeOf(head: Buffer): Place {
  const record_id = createHash("sha256").update(head).digest("hex");
  return { account_id: "installation", table: "backup", column: "content", record_id };
}

async function readExactly(
  file: Awaited<ReturnType<typeof open>>,
  position: number,
  length: number,
): Promise<Buffer | null> {
  const { bytesRead, buffer } = await file.read(Buffer.alloc(length), 0, length, position);
  return bytesRead === length ? buffer : null;
}

function parseHead(bytes: Buffer): BackupHead | null {
  try {
    const head: unknown = JSON.parse(bytes.toString("utf8"));
    return isHead(head) ? head : null;
  } catch {
    return null;
  }
}

/** Of another format only the version is known, which can restore it. */
function isHead(value: unknown): value is BackupHead {
  const { format, id, version, created_at, mode, key, fingerprints } = (value ??
    {}) as Partial<BackupHead>;
  if (typeof format !== "number" || typeof version !== "string") return false;
  if (format !== BACKUP_FORMAT) return true;
  const texts = [id, created_at, mode, key?.master_key_id, key?.wrapped, fingerprints?.signing];
  const keys = fingerprints?.encryption;
  return Array.isArray(keys) && [...texts, ...keys].every((one) => typeof one === "string");
}
