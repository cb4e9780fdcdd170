import type { Readable } from "node:stream";

/** Where a file is stored. Each upload has its own version and is never overwritten. */
export type FileKey = { account_id: string; record_id: string; version: string };

/** The account whose file it is; absent for our own work. */
export type PutLimits = { bytes_max: number; account_id?: string };

/**
 * What we need from a file store. It stores bytes unchanged (the caller encrypts them), and makes a
 * file visible completely or not at all. A local directory works for one machine; an object store
 * with `PUT`, copy, list by prefix and delete works for many.
 */
export type FileStore = {
  /** Streams into a temporary file; safe on disk when this resolves, deleted when it rejects. */
  putTemporary(
    content: AsyncIterable<Buffer>,
    limits: PutLimits,
  ): Promise<{ temporary_key: string }>;
  /** Makes a temporary file permanent, atomically. May be repeated after it succeeded. */
  promote(temporary_key: string, key: FileKey): Promise<void>;
  /** A missing file is not an error. */
  deleteTemporary(temporary_key: string): Promise<void>;
  /** Deletes temporary files last written before this time; returns how many. */
  sweepTemporaries(written_before: Date): Promise<number>;
  /** To be read at once. Rejects with FileMissingError if there is no such file. */
  openRead(key: FileKey): Promise<Readable>;
  /** The same for a client, which may read as slowly as it likes. */
  openDownload(key: FileKey): Promise<Readable>;
  /** A missing file is not an error. */
  delete(key: FileKey): Promise<void>;
  /** The stored versions of a record, in no order: all but the current one can be deleted. */
  listVersions(record: Omit<FileKey, "version">): Promise<string[]>;
  /** Looks for malware in what is uploaded, before it is encrypted; absent: nobody does. */
  scan?: FileScan | undefined;
};

/** Passes the content on unchanged; throws a Refusal if it must not be stored. */
export type FileScan = (content: AsyncIterable<Buffer>) => AsyncGenerator<Buffer>;

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
