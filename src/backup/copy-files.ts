import { type FileKey, FileMissingError, type FileStore } from "../partners/files/file-store.ts";
import { withCopyTransaction } from "../platform/db/copy-connection.ts";
import { listNamedFiles } from "./snapshot-store.ts";

type CopyDeps = { database_url: string; from: FileStore; to: FileStore; onFile: () => void };

export type CopiedFiles = {
  copied: number;
  /** Files that were there already. */
  present: number;
  missing: FileKey[];
};

/**
 * Copies every file that a record names from one store to the other, unchanged and so still
 * encrypted. May run while the service runs, and again: what is there already is whole, and no
 * file is ever overwritten.
 */
export async function copyFiles({
  database_url,
  from,
  to,
  onFile,
}: CopyDeps): Promise<CopiedFiles> {
  const done: CopiedFiles = { copied: 0, present: 0, missing: [] };
  await withCopyTransaction(database_url, "snapshot", async (tx) => {
    for await (const key of listNamedFiles(tx)) {
      onFile();
      const result = await copyFile(from, to, key);
      if (result === "missing") done.missing.push(key);
      else done[result] += 1;
    }
  });
  return done;
}

async function copyFile(
  from: FileStore,
  to: FileStore,
  key: FileKey,
): Promise<"copied" | "present" | "missing"> {
  const versions = await to.listVersions(key);
  if (versions.includes(key.version)) return "present";
  try {
    const content = await from.openRead(key);
    const { temporary_key } = await to.putTemporary(content, { bytes_max: Infinity });
    await to.promote(temporary_key, key);
    return "copied";
  } catch (error) {
    if (error instanceof FileMissingError) return "missing";
    throw error;
  }
}
