import { pipeline, Readable } from "node:stream";
import type { FileKey, FileStore } from "../../partners/files/file-store.ts";
import type { Session } from "../../platform/db/database.ts";
import type { RecordKey } from "../../platform/db/rows.ts";
import type { Place } from "../../platform/encryption/cipher.ts";
import type { Keyring } from "../../platform/encryption/keyring.ts";
import { openStream, sealStream } from "../../platform/encryption/sealed-stream.ts";

/** Bytes of the largest export; one that would be larger has to be split into shorter periods. */
const FILE_BYTES_MAX = 16 * 1024 ** 3;

type FileDeps = { files: FileStore; keyring: Keyring };

export function exportFileKey({ account_id, id }: RecordKey, version: string): FileKey {
  return { account_id, record_id: id, version };
}

/** Stores the content, encrypted with the account's key, as this version of the export's file. */
export async function storeExportFile(
  { files, keyring }: FileDeps,
  session: Session,
  record: RecordKey,
  { version, content }: { version: string; content: AsyncIterable<Buffer> },
): Promise<void> {
  const seal = sealStream(await keyring.openAccount(session, record.account_id), placeOf(record));
  const sealed = pipeline(Readable.from(content), seal, () => {});
  const { account_id } = record;
  const limits = { bytes_max: FILE_BYTES_MAX, account_id };
  const { temporary_key } = await files.putTemporary(sealed, limits);
  await files.promote(temporary_key, exportFileKey(record, version));
}

/** Decrypts the file as it is read. Rejects with FileMissingError if there is none. */
export async function openExportFile(
  { files, keyring }: FileDeps,
  session: Session,
  record: RecordKey,
  version: string,
  open: FileStore["openRead" | "openDownload"] = files.openRead,
): Promise<Readable> {
  const key = await keyring.openAccount(session, record.account_id);
  const sealed = await open(exportFileKey(record, version));
  return pipeline(sealed, openStream(key, placeOf(record)), () => {});
}

/** The encryption is bound to this place: a file moved to another export cannot be decrypted. */
function placeOf({ account_id, id }: RecordKey): Place {
  return { account_id, table: "exports", column: "file", record_id: id };
}
