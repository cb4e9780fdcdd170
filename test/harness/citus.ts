import { JOINED_TABLES } from "../../src/cli/migrate.ts";
import { systemTime } from "../../src/platform/clock.ts";
import { type Database, openDatabase } from "../../src/platform/db/database.ts";
import { distribute } from "../../src/platform/db/distribute.ts";
import { migrate } from "../../src/platform/db/migrate.ts";
import { urlOfDatabase } from "./database-url.ts";

/*
 * DATABASE_URL may name the coordinator of a Citus cluster: a database that has the extension and
 * knows the other nodes. Databases are then created, cloned and dropped on each node: clones of all
 * parts of a distributed database are a distributed database.
 */

const SHARDS = 4;

type Node = { name: string; port: number; groupid: number };

export async function isDistributed(server_url: string): Promise<boolean> {
  return (await listNodes(server_url)).length > 0;
}

/** On the server, or on each node, the coordinator first. */
export async function onEachNode(
  server_url: string,
  work: (server: Database) => Promise<unknown>,
): Promise<void> {
  const workers = (await listNodes(server_url)).filter(({ groupid }) => groupid !== 0);
  for (const url of [server_url, ...workers.map((node) => urlOfNode(server_url, node))]) {
    await onServer(url, work);
  }
}

/** An empty database; on Citus it is migrated and distributed. */
export async function createDatabase(server_url: string, name: string): Promise<void> {
  await onEachNode(server_url, (server) => server.query(`create database ${name}`));
  const nodes = await listNodes(server_url);
  if (nodes.length === 0) return;
  for (const node of nodes) {
    const url = urlOfDatabase(urlOfNode(server_url, node), name);
    await onServer(url, (database) => database.query("create extension citus"));
  }
  const url = urlOfDatabase(server_url, name);
  await onServer(url, async (coordinator) => {
    for (const { groupid, ...node } of nodes) {
      const add = groupid === 0 ? "citus_set_coordinator_host" : "citus_add_node";
      await coordinator.query(`select ${add}($1, $2)`, [node.name, node.port]);
    }
  });
  await onServer(url, async (coordinator) => {
    await migrate(coordinator, systemTime);
    await distribute(coordinator, {
      ...{ shards: SHARDS, joined: JOINED_TABLES },
      ...{ now: systemTime(), onTable: () => {} },
    });
  });
}

export async function dropDatabase(server_url: string, name: string): Promise<void> {
  await onEachNode(server_url, (server) =>
    server.query(`drop database if exists ${name} with (force)`),
  );
}

function listNodes(server_url: string): Promise<Node[]> {
  return onServer(server_url, async (server) => {
    const [row] = await server.query<{ found: string | null }>(
      "select to_regclass('pg_dist_node')::text as found",
    );
    if (!row?.found) return [];
    return server.query(
      "select nodename as name, nodeport as port, groupid from pg_dist_node order by groupid",
    );
  });
}

function urlOfNode(server_url: string, { name, port }: Node): string {
  const url = new URL(server_url);
  url.host = `${name}:${port}`;
  return url.href;
}

async function onServer<Result>(url: string, work: (server: Database) => Promise<Result>) {
  const server = openDatabase({ url, connections_max: 1 });
  try {
    return await work(server);
  } finally {
    await server.close();
  }
}
