import { copyFile, mkdtemp } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createBackup } from "../../src/backup/create-backup.ts";
import { openBackup } from "../../src/backup/open-backup.ts";
import { restoreBackup } from "../../src/backup/restore-backup.ts";
import { openLocalDirectory } from "../../src/partners/files/local-directory.ts";
import { type Config, readConfig } from "../../src/platform/config/config.ts";
import type { TestDatabase } from "../harness/database.ts";
import type { TestServer } from "../harness/server.ts";

const SILENT = { onPart: () => {} };

export async function backUp(
  { core, data_dir }: TestServer,
  output: string,
  { skip_missing_files = false } = {},
) {
  const files = await openLocalDirectory(data_dir);
  return createBackup({ ...core, files }, { ...SILENT, output, skip_missing_files });
}

/** A directory with the keys of this one, as the operator puts them there. */
export async function directoryWithKeys(data_dir: string): Promise<string> {
  const created = await mkdtemp(join(tmpdir(), "sliproad-restored-"));
  for (const name of ["encryption.keys", "signing.key"]) {
    await copyFile(join(data_dir, name), join(created, name));
  }
  return created;
}

export function configOf(data_dir: string, environment: Record<string, string> = {}): Config {
  return readConfig({ SLIPROAD_DATA_DIR: data_dir, ...environment });
}

/** What `sliproad restore` does with a database that exists. */
export async function restore(config: Config, db: TestDatabase, input: string) {
  const backup = await openBackup(config, input, SILENT.onPart);
  return restoreBackup(backup, { config, database_url: db.url, ...SILENT });
}
