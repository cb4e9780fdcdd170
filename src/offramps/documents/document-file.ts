import type { FileKey } from "../../partners/files/file-store.ts";
import type { Place } from "../../platform/encryption/cipher.ts";

type Record = { account_id: string; id: string };

/** Where the copy of an offramp's document is kept. */
export function documentKey({ account_id, id }: Record, version: string): FileKey {
  return { account_id, record_id: id, version };
}

/** What its encryption is bound to: a file moved to another offramp does not open. */
export function documentPlace({ account_id, id }: Record): Place {
  return { account_id, table: "offramps", column: "document", record_id: id };
}

/** The same for a file that was uploaded before its offramps. */
export function uploadedPlace({ account_id, id }: Record): Place {
  return { account_id, table: "documents", column: "file", record_id: id };
}

/** Where an offramp's document stands, and what its encryption is bound to. */
export function locateDocument(row: Record & { document_id: string | null }, version: string) {
  const { account_id, document_id } = row;
  if (document_id === null) return { key: documentKey(row, version), place: documentPlace(row) };
  const uploaded = { account_id, id: document_id };
  return { key: documentKey(uploaded, version), place: uploadedPlace(uploaded) };
}

export const DOCUMENT_BYTES_MAX = 5 * 1024 * 1024;
