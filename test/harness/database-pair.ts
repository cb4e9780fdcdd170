import { execFileSync } from "node:child_process";
import { appendFile, cp, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type Database, openDatabase } from "../../src/platform/db/database.ts";
import { type EmbeddedPostgres, startEmbeddedPostgres } from "../../src/platform/db/embedded.ts";
import { findCluster } from "../../src/platform/db/embedded-cluster.ts";
import { waitFor } from "./wait-for.ts";

/** Two servers of PostgreSQL; every commit on the first waits until the second has it. */
export type DatabasePair = {
  /** Of both hosts, the first one first. */
  url: string;
  /** Stops the first one's processes where they are: its connections stay open, nobody answers. */
  freeze(): Promise<void>;
  thaw(): Promise<void>;
  /** Makes the second one accept writes. */
  promote(): Promise<void>;
  close(): Promise<void>;
};

export async function startDatabasePair(): Promise<DatabasePair> {
  const [first_dir, second_dir] = (await Promise.all(
    ["first", "second"].map((name) => mkdtemp(join(tmpdir(), `sliproad-${name}-`))),
  )) as [string, string];
  await (await startEmbeddedPostgres({ data_dir: first_dir })).stop();
  await copyCluster(first_dir, second_dir);
  const first = await startEmbeddedPostgres({ data_dir: first_dir });
  await followServer(second_dir, first.url);
  const second = await startEmbeddedPostgres({ data_dir: second_dir });
  await waitForCopies(first.url);
  const [host, other] = [first, second].map(({ url }) => new URL(url).host);
  let is_frozen = false;
  const signal = async (name: "STOP" | "CONT") => {
    is_frozen = name === "STOP";
    execFileSync("kill", [`-${name}`, ...(await listProcesses(first_dir))]);
  };
  return {
    url: first.url.replace(host!, `${host},${other}`),
    freeze: () => signal("STOP"),
    thaw: () => signal("CONT"),
    promote: () => onServer(second.url, (database) => database.query("select pg_promote()")),
    close: async () => {
      if (is_frozen) await signal("CONT");
      await stopAll([first, second]);
      await Promise.all([first_dir, second_dir].map(removeCluster));
    },
  };
}

async function copyCluster(from_dir: string, to_dir: string): Promise<void> {
  const { directory } = await findCluster(from_dir);
  await cp(join(from_dir, "postgres-password"), join(to_dir, "postgres-password"));
  const target = await findCluster(to_dir);
  await cp(directory, target.directory, { recursive: true, preserveTimestamps: true });
}

async function followServer(data_dir: string, url: string): Promise<void> {
  const { directory } = await findCluster(data_dir);
  const settings = `primary_conninfo = '${url}'\n`;
  await appendFile(join(directory, "postgresql.auto.conf"), settings);
  await writeFile(join(directory, "standby.signal"), "");
}

/** Only the first one waits: the second one has nobody to wait for. */
async function waitForCopies(url: string): Promise<void> {
  await onServer(url, async (database) => {
    await database.query("alter system set synchronous_standby_names = '*'");
    await database.query("select pg_reload_conf()");
    await waitFor(async () => {
      const query = "select 1 from pg_stat_replication where sync_state = 'sync'";
      return (await database.query(query)).length === 1;
    });
  });
}

async function onServer(url: string, work: (database: Database) => Promise<unknown>) {
  const database = openDatabase({ url, connections_max: 1 });
  try {
    await work(database);
  } finally {
    await database.close();
  }
}

/** The process of the server that runs on this data directory. */
export async function findServerPid(data_dir: string): Promise<number> {
  const { directory } = await findCluster(data_dir);
  return Number.parseInt(await readFile(join(directory, "postmaster.pid"), "utf8"), 10);
}

/** The server and the processes that it started. */
async function listProcesses(data_dir: string): Promise<string[]> {
  const pid = String(await findServerPid(data_dir));
  const lines = execFileSync("ps", ["-e", "-o", "pid=,ppid="], { encoding: "utf8" }).split("\n");
  const children = lines.map((line) => line.trim().split(/ +/)).filter(([, of]) => of === pid);
  return [pid, ...children.map(([child]) => child!)];
}

async function stopAll(servers: EmbeddedPostgres[]): Promise<void> {
  for (const server of servers) await server.stop();
}

async function removeCluster(data_dir: string): Promise<void> {
  const { directory } = await findCluster(data_dir);
  for (const path of [directory, data_dir]) await rm(path, { recursive: true, force: true });
}
