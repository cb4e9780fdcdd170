import { pipeline, type Readable } from "node:stream";
import type { FileKey, FileStore } from "../partners/files/file-store.ts";
import type { Place } from "../platform/encryption/cipher.ts";
import { openStream } from "../platform/encryption/sealed-stream.ts";
import type { UserKey } from "../users/store.ts";

/** Where a file is kept: all of a user's lie together, so that they can go together. */
export function kycFileKey({ account_id, user_id }: UserKey, file: string): FileKey {
  return { account_id, record_id: user_id, version: file };
}

/** What its encryption is bound to: a file put in another's place does not open. */
export function kycFilePlace({ account_id }: UserKey, file: string): Place {
  return { account_id, table: "kyc_files", column: "file", record_id: file };
}

/** The file in clear, while it is read. */
export async function openKycFile(
  files: FileStore,
  key: UserKey,
  file: string,
  subject_key: Buffer,
): Promise<Readable> {
  const sealed = await files.openRead(kycFileKey(key, file));
  // Either end takes the other with it: a client that goes away must not leave a file open.
  return pipeline(sealed, openStream(subject_key, kycFilePlace(key, file)), () => {});
}
