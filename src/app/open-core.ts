import { readFileSync } from "node:fs";
import { type FirstStart, firstStart } from "../accounts/first-start.ts";
import { type Catalogue, loadCatalogue } from "../catalogue/catalogue.ts";
import { type Clock, openClock, type SandboxClock, systemTime } from "../platform/clock.ts";
import type { Config } from "../platform/config/config.ts";
import { openDatabase } from "../platform/db/database.ts";
import { type MigrateOptions, migrate } from "../platform/db/migrate.ts";
import { refusePooler } from "../platform/db/refuse-pooler.ts";
import { openInstallation } from "../platform/encryption/installation.ts";
import type { MasterKeys } from "../platform/encryption/key-port.ts";
import { createKeyring } from "../platform/encryption/keyring.ts";
import { masterKeys } from "../platform/encryption/master-keys.ts";
import { ensureDataDir } from "../platform/instance.ts";
import type { ModuleCore } from "../platform/module.ts";
import { openMacs } from "../platform/sealing/mac-keys.ts";
import { bindMacs } from "../platform/sealing/row-mac.ts";
import { StartupError } from "../platform/startup-error.ts";

/** What everything is built from: an open, migrated database with its clock and keys. */
export type Core = Pick<ModuleCore, "config" | "database" | "keyring" | "index_key"> & {
  /** Of the database, for what needs a connection of its own. */
  database_url: string;
  clock: Clock & SandboxClock;
  masters: MasterKeys;
  catalogue: Catalogue;
  first_start: FirstStart;
};

export async function openCore(
  config: Config,
  database_url: string,
  migration: MigrateOptions = {},
): Promise<Core> {
  const database = openDatabase({
    url: database_url,
    connections_max: config.database_connections,
    pipeline: config.database_pipeline === "on",
    by_account: config.batch_by === "account",
  });
  try {
    await refusePooler(database);
    await migrate(database, systemTime, migration);
    if (!config.encryption_key) await ensureDataDir(config.data_dir);
    const masters = masterKeys(config);
    const { index_key } = await openInstallation(database, masters, config.mode, systemTime());
    bindMacs(database, await openMacs(database, masters, systemTime()));
    const clock = await openClock(database);
    const keyring = createKeyring(masters);
    // Before the first start, which shows its keys only once: what can fail must fail earlier.
    const catalogue = readCatalogue(config);
    const first_start = await firstStart(database, keyring, index_key, config, clock.now());
    return {
      ...{ config, database, database_url, clock, masters, keyring, index_key, catalogue },
      first_start,
    };
  } catch (error) {
    await database.close();
    throw error;
  }
}

export function readCatalogue({ catalogue_file }: Pick<Config, "catalogue_file">): Catalogue {
  if (catalogue_file === undefined) return loadCatalogue();
  try {
    return loadCatalogue(readFileSync(catalogue_file, "utf8"));
  } catch (error) {
    throw new StartupError(`SLIPROAD_CATALOGUE_FILE: ${(error as Error).message}`);
  }
}
