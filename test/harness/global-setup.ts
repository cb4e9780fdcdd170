import { execFileSync } from "node:child_process";
import { chmod, mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { TestProject } from "vitest/node";
import { openDatabase } from "../../src/platform/db/database.ts";
import { startEmbeddedPostgres } from "../../src/platform/db/embedded.ts";
import { migrate } from "../../src/platform/db/migrate.ts";
import { checkStatements, unused } from "../tenancy/check-statements.ts";
import { createDatabase, isDistributed, onEachNode } from "./citus.ts";
import { urlOfDatabase } from "./database-url.ts";

declare module "vitest" {
  interface ProvidedContext {
    /** The server's own database, from which others are created. */
    server_url: string;
    /** The prefix of all databases of this run. */
    database_prefix: string;
    /** The migrated database that tests are cloned from. */
    template: string;
    /** The server's data directory; empty if the server is not ours (DATABASE_URL). */
    server_data_dir: string;
    /** Where test files write which statements they sent (test/tenancy). */
    statements_dir: string;
  }
}

const BUILDERS = ["build-pages.mjs", "build-sdk.mjs"];

/**
 * Builds the pages and the SDK if their sources have changed, as `npm start` does, and starts one
 * PostgreSQL for the whole run with one migrated database to clone from. DATABASE_URL names another
 * server (any version, any number of runs at a time); its user must be able to create databases.
 */
export default async function setUp(project: TestProject): Promise<() => Promise<void>> {
  for (const name of BUILDERS) {
    const builder = join(import.meta.dirname, "../../scripts", name);
    execFileSync(process.execPath, [builder], { stdio: ["ignore", "inherit", "inherit"] });
  }
  const server = process.env.DATABASE_URL
    ? { url: process.env.DATABASE_URL, data_dir: "", stop: async () => {} }
    : await startTemporaryServer();
  const database_prefix = `test_${process.pid}_${Date.now().toString(36)}_`;
  const template = `${database_prefix}template`;
  try {
    await createTemplate(server.url, template);
  } catch (error) {
    await server.stop();
    throw error;
  }
  project.provide("server_url", server.url);
  project.provide("database_prefix", database_prefix);
  project.provide("template", template);
  project.provide("server_data_dir", server.data_dir);
  const statements_dir = await mkdtemp(join(tmpdir(), "sliproad-statements-"));
  project.provide("statements_dir", statements_dir);
  return async () => {
    try {
      // Citus itself refuses such a statement, or not, and its plans are of another form.
      if (!(await isDistributed(server.url))) {
        await assertTenancy(urlOfDatabase(server.url, template), statements_dir);
      }
    } finally {
      await rm(statements_dir, { recursive: true, force: true });
      await dropAll(server.url, database_prefix);
      await server.stop();
    }
  };
}

async function startTemporaryServer() {
  const data_dir = await mkdtemp(join(tmpdir(), "sliproad-test-"));
  // Started by root, the server runs as another user, who needs access.
  await chmod(data_dir, 0o755);
  const remove = () => rm(data_dir, { recursive: true, force: true });
  try {
    const first = await startEmbeddedPostgres({ data_dir });
    await setUpServer(first.url).finally(first.stop);
    const server = await startEmbeddedPostgres({ data_dir });
    const stop = async () => {
      await server.stop();
      await remove();
    };
    return { url: server.url, data_dir, stop };
  } catch (error) {
    await remove();
    throw error;
  }
}

const SERVER_SETTINGS = [
  // Two test files with several servers each can use up a hundred connections (503, seen in CI).
  "max_connections = 400",
  // These databases need not survive a loss of power, and dropping one waits for the disk
  // (measured on a busy machine: 3 s instead of 0.1 s). What the service itself starts keeps both
  // on (test/platform/db/embedded.test.ts).
  "fsync = off",
  "full_page_writes = off",
];

async function setUpServer(url: string): Promise<void> {
  const server = openDatabase({ url, connections_max: 1 });
  try {
    for (const setting of SERVER_SETTINGS) await server.query(`alter system set ${setting}`);
    // Each connection derives a key with as many rounds; a test server opens twenty.
    await server.query("set scram_iterations = 1");
    await server.query(`alter user current_user password '${new URL(url).password}'`);
  } finally {
    await server.close();
  }
}

async function createTemplate(server_url: string, template: string): Promise<void> {
  await createDatabase(server_url, template);
  const url = urlOfDatabase(server_url, template);
  const database = openDatabase({ url, connections_max: 2 });
  await migrate(database, () => new Date()).finally(database.close);
  if (await isDistributed(server_url)) await closeTemplate(server_url, template);
}

/** Citus keeps a connection to each database, and a database that is in use cannot be cloned. */
async function closeTemplate(server_url: string, template: string): Promise<void> {
  await onEachNode(server_url, async (server) => {
    await server.query(`alter database ${template} allow_connections false`);
    await server.query(
      "select pg_terminate_backend(pid) from pg_stat_activity where datname = $1",
      [template],
    );
  });
}

/** Fails the run if a statement of it could not run where accounts are on several servers. */
async function assertTenancy(template_url: string, directory: string): Promise<void> {
  const database = openDatabase({ url: template_url, connections_max: 1 });
  const checked = await database
    .connection((session) => checkStatements(session, directory))
    .finally(database.close);
  if (!checked) return;
  const { statements, transactions, exceptions } = checked;
  const faults = [...checked.faults, ...(process.env.TENANCY_RUN === "all" ? unused(checked) : [])];
  console.log(
    `Tenancy: ${statements} statements and ${transactions} kinds of transactions, ` +
      `${exceptions.size} listed exceptions, ${faults.length} problems.`,
  );
  for (const fault of faults) console.error(fault);
  if (faults.length > 0) throw new Error("statements do not keep to one account (test/tenancy)");
}

/** Drops the template, and databases that failed or ended tests left. */
async function dropAll(server_url: string, database_prefix: string): Promise<void> {
  await onEachNode(server_url, async (server) => {
    const rows = await server.query<{ datname: string }>(
      "select datname from pg_database where starts_with(datname, $1)",
      [database_prefix],
    );
    for (const { datname } of rows) await server.query(`drop database ${datname} with (force)`);
  });
}
