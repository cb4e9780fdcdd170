import type { FileKey } from "../partners/files/file-store.ts";
import type { Place } from "../platform/encryption/cipher.ts";

type Record = { account_id: string; id: string };

/** Where the copy of an offramp's document is kept. */
export function documentKey({ account_id, id }: Record, version: string): FileKey {
  return { account_id, record_id: id, version };
}

/** What its encryption is bound to: a file moved to another offramp does not open. */
export function documentPlace({ account_id, id }: Record): Place {
  return { account_id, table: "offramps", column: "document", record_id: id };
}

export const DOCUMENT_BYTES_MAX = 5 * 1024 * 1024;
