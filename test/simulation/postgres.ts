import { chmod, mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { openDatabase } from "../../src/platform/db/database.ts";
import { startEmbeddedPostgres } from "../../src/platform/db/embedded.ts";

/** A server for the time of the run; DATABASE_URL names another one. */
export async function startPostgres(): Promise<{ url: string; stop(): Promise<void> }> {
  const given = process.env.DATABASE_URL;
  if (given) return { url: given, stop: async () => {} };
  const data_dir = await mkdtemp(join(tmpdir(), "sliproad-simulation-server-"));
  await chmod(data_dir, 0o755);
  const server = await startEmbeddedPostgres({ data_dir });
  const admin = openDatabase({ url: server.url, connections_max: 1 });
  // Nothing here has to survive a loss of power.
  for (const setting of ["fsync", "full_page_writes", "synchronous_commit"]) {
    await admin.query(`alter system set ${setting} = off`);
  }
  await admin.query("select pg_reload_conf()");
  await admin.close();
  const stop = async () => {
    await server.stop();
    await rm(data_dir, { recursive: true, force: true });
  };
  return { url: server.url, stop };
}
