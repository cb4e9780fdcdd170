import { pipeline, type Readable } from "node:stream";
import type { FileKey, FileStore } from "../partners/files/file-store.ts";
import type { Place } from "../platform/encryption/cipher.ts";
import { openStream } from "../platform/encryption/sealed-stream.ts";
import type { UserKey } from "../users/store.ts";

/** The storage key: all files of a user share a prefix, so that they can be deleted together. */
export function kycFileKey({ account_id, user_id }: UserKey, file: string): FileKey {
  return { account_id, record_id: user_id, version: file };
}

/** The encryption is bound to this place: a file moved to another place does not decrypt. */
export function kycFilePlace({ account_id }: UserKey, file: string): Place {
  return { account_id, table: "kyc_files", column: "file", record_id: file };
}

/** Decrypts the file while it is read; `open` is the store's function for this reader. */
export async function openKycFile(
  open: FileStore["openRead" | "openDownload"],
  key: UserKey,
  file: string,
  subject_key: Buffer,
): Promise<Readable> {
  const sealed = await open(kycFileKey(key, file));
  // Closing one stream closes the other: a client that disconnects must not leave a file open.
  return pipeline(sealed, openStream(subject_key, kycFilePlace(key, file)), () => {});
}
