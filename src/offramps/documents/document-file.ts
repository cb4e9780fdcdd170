import { pipeline, type Readable } from "node:stream";
import type { FileKey, FileStore } from "../../partners/files/file-store.ts";
import type { Place } from "../../platform/encryption/cipher.ts";
import { openStream } from "../../platform/encryption/sealed-stream.ts";

type Record = { account_id: string; id: string };

/** Where the copy of an offramp's document is kept. */
export function documentKey({ account_id, id }: Record, version: string): FileKey {
  return { account_id, record_id: id, version };
}

/** The encryption is bound to this place: a file moved to another offramp cannot be decrypted. */
export function documentPlace({ account_id, id }: Record): Place {
  return { account_id, table: "offramps", column: "document", record_id: id };
}

/** The same for a file uploaded before its offramps. */
export function uploadedPlace({ account_id, id }: Record): Place {
  return { account_id, table: "documents", column: "file", record_id: id };
}

/** Where an offramp's document is stored, and the place its encryption is bound to. */
function locateDocument(row: Record & { document_id: string | null }, version: string) {
  const { account_id, document_id } = row;
  if (document_id === null) return { key: documentKey(row, version), place: documentPlace(row) };
  const uploaded = { account_id, id: document_id };
  return { key: documentKey(uploaded, version), place: uploadedPlace(uploaded) };
}

/** For a download: decrypts the file as it is read. */
export async function openDocument(
  files: FileStore,
  row: Record & { document_id: string | null },
  version: string,
  subject_key: Buffer,
): Promise<Readable> {
  const { key, place } = locateDocument(row, version);
  const sealed = await files.openDownload(key);
  // An error on either end destroys both: a client that disconnects must not leave a file open.
  return pipeline(sealed, openStream(subject_key, place), () => {});
}

export const DOCUMENT_BYTES_MAX = 5 * 1024 * 1024;
