import { randomBytes } from "node:crypto";
import { setTimeout as sleep } from "node:timers/promises";
import { inject } from "vitest";
import { type Database, openDatabase } from "../../src/platform/db/database.ts";
import { bindMacs } from "../../src/platform/sealing/row-mac.ts";
import { dropDatabase, onEachNode } from "./citus.ts";
import { urlOfDatabase } from "./database-url.ts";
import { fixedMacs } from "./macs.ts";

export type TestDatabase = { url: string; database: Database; drop(): Promise<void> };

const OBJECT_IN_USE = "55006";
const CLONE_TRIES_MAX = 50;
const CLONE_RETRY_MS = 100;

type DatabaseOptions = {
  connections_max?: number;
  /** Of another database that nobody uses now: a backup of it. */
  copy_of?: TestDatabase;
};

/** A separate database for the test, migrated and empty, or a copy of another one. */
export async function createTestDatabase(options: DatabaseOptions = {}): Promise<TestDatabase> {
  const server_url = inject("server_url");
  const name = `${inject("database_prefix")}${randomBytes(6).toString("hex")}`;
  const { copy_of } = options;
  await onEachNode(server_url, (server) => cloneTemplate(server, name, copy_of));
  const url = urlOfDatabase(server_url, name);
  // Tests end connections on purpose; a lost one is not an error of the test.
  const { connections_max = 10 } = options;
  const by_account = process.env.SLIPROAD_BATCH_BY === "account";
  const database = openDatabase({ url, connections_max, by_account });
  bindMacs(database, fixedMacs());
  const drop = async () => {
    await database.close();
    await dropDatabase(server_url, name);
  };
  return { url, database, drop };
}

/** Any connection to the template (autovacuum, a developer) makes the server refuse for a while. */
async function cloneTemplate(
  server: Database,
  name: string,
  copy_of: TestDatabase | undefined,
): Promise<void> {
  const template = copy_of ? new URL(copy_of.url).pathname.slice(1) : inject("template");
  for (let tries = 1; ; tries += 1) {
    try {
      if (copy_of) {
        const end = "select pg_terminate_backend(pid) from pg_stat_activity where datname = $1";
        await server.query(end, [template]);
      }
      await server.query(`create database ${name} template ${template} strategy file_copy`);
      return;
    } catch (error) {
      const is_in_use = (error as { code?: string }).code === OBJECT_IN_USE;
      if (!is_in_use || tries === CLONE_TRIES_MAX) throw error;
      await sleep(CLONE_RETRY_MS);
    }
  }
}
