import { readdir } from "node:fs/promises";
import { join } from "node:path";
import { placeOfFiles } from "../partners/files/open-files.ts";
import type { Config } from "../platform/config/config.ts";
import { listMigrationFiles } from "../platform/db/migrate.ts";
import { masterKeys } from "../platform/encryption/master-keys.ts";
import { StartupError } from "../platform/startup-error.ts";
import { type Archive, openArchive } from "./archive.ts";
import { checkContent, type OnPart } from "./check-content.ts";
import { checkKeys, unwrapKey } from "./check-keys.ts";
import type { AppliedMigration, Totals } from "./model.ts";

export type OpenBackup = { archive: Archive; key: Buffer; totals: Totals };

/**
 * Reads a whole backup before anything is written, and refuses one that cannot be restored here:
 * of another mode, key or version, or not whole; or where files exist already.
 */
export async function openBackup(
  config: Config,
  input: string,
  onPart: OnPart,
): Promise<OpenBackup> {
  const archive = await openArchive(input);
  const { head } = archive;
  if (head.mode !== config.mode) {
    throw new StartupError(
      `${input} is of an installation in ${head.mode} mode; set SLIPROAD_MODE=${head.mode}.`,
    );
  }
  const masters = masterKeys(config, { are_created: false });
  await checkKeys(config, masters, head);
  const key = await unwrapKey(masters, head);
  let migrations: AppliedMigration[] = [];
  const totals = await checkContent(archive, key, {
    onPart,
    onHead: (part) => {
      if (part.part === "schema") migrations = part.migrations;
    },
  });
  assertSameVersion(migrations, await listMigrationFiles(), head.version);
  if (placeOfFiles(config) === "directory") await assertNoFiles(join(config.data_dir, "files"));
  return { archive, key, totals };
}

function assertSameVersion(
  migrations: readonly AppliedMigration[],
  own: readonly AppliedMigration[],
  version: string,
): void {
  const ownSum = (name: string) => own.find((file) => file.name === name)?.checksum;
  const differing =
    migrations.find(({ name, checksum }) => ownSum(name) !== checksum)?.name ??
    own.find(({ name }) => !migrations.some((one) => one.name === name))?.name;
  if (differing === undefined) return;
  throw new StartupError(
    `The backup is of Sliproad ${version}, whose database differs from this version's by the ` +
      `migration ${differing}. Restore it with that version, then upgrade.`,
  );
}

async function assertNoFiles(directory: string): Promise<void> {
  const found = await readdir(directory, { recursive: true, withFileTypes: true }).catch(orNone);
  if (!found.some((entry) => !entry.isDirectory())) return;
  throw new StartupError(
    `${directory} has files; a backup is restored only into a directory without any.`,
  );
}

function orNone(error: NodeJS.ErrnoException): [] {
  if (error.code === "ENOENT") return [];
  throw error;
}
