import { randomBytes } from "node:crypto";
import { setTimeout as sleep } from "node:timers/promises";
import { inject } from "vitest";
import { type Database, openDatabase } from "../../src/platform/db/database.ts";
import { urlOfDatabase } from "./database-url.ts";

export type TestDatabase = { url: string; database: Database; drop(): Promise<void> };

const OBJECT_IN_USE = "55006";
const CLONE_TRIES_MAX = 50;
const CLONE_RETRY_MS = 100;

/** A separate database for the test, migrated and empty. */
export async function createTestDatabase(
  options: { connections_max?: number } = {},
): Promise<TestDatabase> {
  const server_url = inject("server_url");
  const name = `${inject("database_prefix")}${randomBytes(6).toString("hex")}`;
  await onServer(server_url, (server) => cloneTemplate(server, name));
  const url = urlOfDatabase(server_url, name);
  // Tests end connections on purpose; a lost one is not an error of the test.
  const database = openDatabase({ url, connections_max: options.connections_max ?? 10 });
  const drop = async () => {
    await database.close();
    await onServer(server_url, (server) =>
      server.query(`drop database if exists ${name} with (force)`),
    );
  };
  return { url, database, drop };
}

async function onServer<Result>(url: string, work: (server: Database) => Promise<Result>) {
  const server = openDatabase({ url, connections_max: 1 });
  try {
    return await work(server);
  } finally {
    await server.close();
  }
}

/** Any connection to the template (autovacuum, a developer) makes the server refuse for a while. */
async function cloneTemplate(server: Database, name: string): Promise<void> {
  for (let tries = 1; ; tries += 1) {
    try {
      await server.query(`create database ${name} template ${inject("template")}`);
      return;
    } catch (error) {
      const is_in_use = (error as { code?: string }).code === OBJECT_IN_USE;
      if (!is_in_use || tries === CLONE_TRIES_MAX) throw error;
      await sleep(CLONE_RETRY_MS);
    }
  }
}
