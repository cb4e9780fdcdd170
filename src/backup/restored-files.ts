import { mkdir, rename, rm } from "node:fs/promises";
import { join } from "node:path";
import type { FileStore } from "../partners/files/file-store.ts";
import { openLocalDirectory } from "../partners/files/local-directory.ts";
import { openFiles, placeOfFiles } from "../partners/files/open-files.ts";
import type { Config } from "../platform/config/config.ts";
import { ensureDataDir } from "../platform/instance.ts";
import { syncDirectory } from "../platform/secret-file.ts";

type RestoredFiles = {
  store: FileStore;
  /** Makes all of them visible, if they are not yet. */
  place(): Promise<void>;
  /** Of a restore that failed. */
  discardRest(): Promise<void>;
};

/**
 * Where the files of a backup are written. A directory gets all of them at once. A bucket gets them
 * one by one: until the database is restored no record names them, and an object of the same name
 * has the same content, since no file is ever overwritten.
 */
export async function openRestoredFiles(config: Config, id: string): Promise<RestoredFiles> {
  if (placeOfFiles(config) === "s3") {
    return { store: await openFiles(config), place: async () => {}, discardRest: async () => {} };
  }
  const data_dir = await ensureDataDir(config.data_dir);
  const staging = join(data_dir, `restoring-${id}`);
  const discardRest = () => rm(staging, { recursive: true, force: true });
  await discardRest();
  const store = await openLocalDirectory(staging);
  return { store, place: () => placeFiles(join(staging, "files"), data_dir), discardRest };
}

async function placeFiles(from: string, data_dir: string): Promise<void> {
  const to = join(data_dir, "files");
  // Empty directories alone: `openBackup` has looked.
  await rm(to, { recursive: true, force: true });
  await mkdir(data_dir, { recursive: true });
  await rename(from, to);
  syncDirectory(data_dir);
}
