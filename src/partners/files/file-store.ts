import type { Readable } from "node:stream";

/** Where a file is kept for good. Each upload has a version of its own and is never overwritten. */
export type FileKey = { account_id: string; record_id: string; version: string };

/**
 * What we ask of a place for files. It holds bytes as they come (sealed by the caller), and makes
 * a file visible whole or not at all. A local directory serves one machine; an object store with
 * `PUT`, copy, list by prefix and delete can serve many.
 */
export type FileStore = {
  /** Streams into a temporary file; safe on disk when this resolves, gone when it rejects. */
  putTemporary(
    content: AsyncIterable<Buffer>,
    limits: { bytes_max: number },
  ): Promise<{ temporary_key: string }>;
  /** Makes a temporary file the kept one, at once. May be repeated after it was done. */
  promote(temporary_key: string, key: FileKey): Promise<void>;
  /** Absent files are no error: the end is what was asked for. */
  deleteTemporary(temporary_key: string): Promise<void>;
  /** Removes temporary files last written to before this time; answers how many. */
  sweepTemporaries(written_before: Date): Promise<number>;
  /** Rejects with FileMissingError when there is no such file. */
  openRead(key: FileKey): Promise<Readable>;
  /** Absent files are no error. */
  delete(key: FileKey): Promise<void>;
  /** The versions kept of a record, in no order: what is not the present one can go. */
  listVersions(record: Omit<FileKey, "version">): Promise<string[]>;
};

export class FileMissingError extends Error {}
export class FileTooLargeError extends Error {}

const ID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;
const VERSION = /^[0-9a-z][0-9a-z-]{0,63}$/;

/** Keys become paths and object names: anything but ids and a plain version is refused. */
export function checkFileKey(key: FileKey): FileKey {
  checkRecord(key);
  if (!VERSION.test(key.version)) throw new Error("the version of a file key is malformed");
  return key;
}

export function checkRecord<Record extends Omit<FileKey, "version">>(record: Record): Record {
  if (ID.test(record.account_id) && ID.test(record.record_id)) return record;
  throw new Error("a file key consists of ids in lower case");
}

export function checkTemporaryKey(temporary_key: string): string {
  if (!ID.test(temporary_key)) throw new Error("this is no key of a temporary file");
  return temporary_key;
}
