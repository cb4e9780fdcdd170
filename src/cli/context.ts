import { existsSync } from "node:fs";
import { join } from "node:path";
import { type Core, openCore } from "../app/open-core.ts";
import { type Config, readConfig } from "../platform/config/config.ts";
import { type Database, openDatabase } from "../platform/db/database.ts";
import { startEmbeddedPostgres } from "../platform/db/embedded.ts";
import { describeHosts } from "../platform/db/hosts.ts";
import type { MigrateOptions } from "../platform/db/migrate.ts";
import { DatabaseUnavailableError, isDatabaseError } from "../platform/db/outages.ts";
import { claimDataDir, readInstance } from "../platform/instance.ts";
import { StartupError } from "../platform/startup-error.ts";
import { keepFirstSecrets, keepSandboxKey } from "./first-start.ts";

/**
 * Runs a command on the database that the service uses: an external one, the embedded one of a
 * running instance, or else the embedded one, started for the duration of the command. Only
 * `start` and `migrate` migrate a database that is in use.
 */
export async function withCore<Result>(
  work: (core: Core) => Promise<Result>,
  migration: MigrateOptions = { only_new: true },
): Promise<Result> {
  const config = readConfig(process.env);
  const found = await findDatabase(config);
  try {
    const core = await openCoreOrSay(config, found.url, migration);
    try {
      await keepSandboxKey(core);
      const { lines } = await keepFirstSecrets(core, process.stderr.isTTY === true);
      // Not on stdout, where --json promises one document.
      if (lines.length > 0) console.error(lines.join("\n"));
      return await work(core);
    } finally {
      await core.database.close();
    }
  } finally {
    await found.release();
  }
}

/** The same without the keys: for a copy of a database whose keys are elsewhere. */
export async function withDatabase<Result>(
  work: (database: Database, config: Config) => Promise<Result>,
): Promise<Result> {
  const config = readConfig(process.env);
  const found = await findDatabase(config);
  const database = openDatabase({ url: found.url, connections_max: 2 });
  try {
    return await work(database, config);
  } finally {
    await database.close();
    await found.release();
  }
}

/** Runs a command on a database that no service uses yet, created if it is the embedded one. */
export async function withNewDatabase<Result>(
  config: Config,
  work: (url: string) => Promise<Result>,
): Promise<Result> {
  if (config.database_url) return work(config.database_url);
  const { url, postgres, claim } = await startOwn(config);
  try {
    return await work(url);
  } finally {
    await postgres.stop();
    await claim.giveBack();
  }
}

/**
 * The configured database, assumed to be that of the service at this URL; else that of our own
 * installation, if it serves the URL. Null where there is no access.
 */
export async function findDatabaseOf(config: Config, service_url: string): Promise<string | null> {
  if (config.database_url) return config.database_url;
  const instance = await readInstance(config.data_dir).catch(() => null);
  return (instance?.public_url === service_url && instance.database_url) || null;
}

async function findDatabase(config: Config): Promise<{ url: string; release(): Promise<void> }> {
  if (config.database_url) return { url: config.database_url, release: async () => {} };
  const instance = await readInstance(config.data_dir);
  if (instance?.database_url) return { url: instance.database_url, release: async () => {} };
  if (!existsSync(join(config.data_dir, "postgres-password"))) {
    throw new StartupError(
      `There is no installation in ${config.data_dir} yet; run sliproad start, or set ` +
        "SLIPROAD_DATA_DIR or DATABASE_URL to the one you mean.",
    );
  }
  const { url, postgres, claim } = await startOwn(config);
  const release = async () => {
    await postgres.stop();
    await claim.giveBack();
  };
  return { url, release };
}

/** Claims the data directory and starts its database. */
export async function startOwn(config: Config) {
  const claim = await claimDataDir(config.data_dir);
  try {
    const postgres = await startEmbeddedPostgres({ data_dir: config.data_dir });
    return { url: postgres.url, claim, postgres };
  } catch (error) {
    await claim.giveBack();
    throw error;
  }
}

/** An external database that does not answer or denies access is for the operator to fix. */
export async function openCoreOrSay(
  config: Config,
  url: string,
  migration?: MigrateOptions,
): Promise<Core> {
  try {
    return await openCore(config, url, migration);
  } catch (error) {
    const why = whyNotOpen(error);
    if (why === null) throw error;
    throw new StartupError(
      `The database at ${describeHosts(url)} cannot be ${why}; check DATABASE_URL and that it is ` +
        "running.",
    );
  }
}

// PostgreSQL errors: wrong user or password, no such database, no permission, no resources.
const OPERATOR_ERRORS = /^(28|3D|53|42501)/;

function whyNotOpen(error: unknown): string | null {
  const is_unavailable = error instanceof DatabaseUnavailableError;
  const cause = (is_unavailable ? error.cause : error) as Error & { code?: string };
  if (isDatabaseError(cause) && OPERATOR_ERRORS.test(cause.code ?? "")) {
    return `used (${cause.message})`;
  }
  return is_unavailable ? `reached (${cause?.code ?? cause?.message})` : null;
}
