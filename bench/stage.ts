import { type ChildProcess, spawn } from "node:child_process";
import { chmod, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { type Core, openCore } from "../src/app/open-app.ts";
import { readConfig } from "../src/platform/config/config.ts";
import { startEmbeddedPostgres } from "../src/platform/db/embedded.ts";

/** One database, with the service and the baseline, each in its own process. */
export type Stage = {
  database_url: string;
  core: Core;
  service: Program;
  baseline: Program;
  close(): Promise<void>;
};

export type Program = { name: string; url: string; pid: number; stop(): Promise<void> };

/** pgbench alone opens 256. */
const CONNECTIONS_MAX = 400;
const READY_MAX_MS = 60_000;
const SERVICE = fileURLToPath(import.meta.resolve("../bin/sliproad"));
const BASELINE = fileURLToPath(import.meta.resolve("./baseline-server.ts"));

/** With `profile_dir`, the service writes a CPU profile there when it ends. */
export async function openStage(profile_dir: string | null): Promise<Stage> {
  const data_dir = await mkdtemp(join(tmpdir(), "sliproad-bench-"));
  // As root, PostgreSQL runs as another user and would put its files where they are not cleaned up.
  await chmod(data_dir, 0o755);
  const closing: (() => Promise<unknown>)[] = [() => rm(data_dir, { recursive: true })];
  const close = async () => {
    for (const end of closing.toReversed()) await end();
  };
  try {
    const postgres = await startPostgres(data_dir);
    closing.push(postgres.stop);
    const environment = {
      DATABASE_URL: postgres.url,
      SLIPROAD_DATA_DIR: data_dir,
      SLIPROAD_RATE_LIMIT: "0",
      SLIPROAD_LOG_LEVEL: "silent",
      SLIPROAD_QUOTE_LIFE_MINUTES: "1440",
      SLIPROAD_QUOTES_OPEN_MAX: "0",
      SLIPROAD_DOCUMENTS: "threshold",
    };
    const core = await openCore(readConfig(environment), postgres.url);
    closing.push(core.database.close);
    const flags = profile_dir ? ["--cpu-prof", `--cpu-prof-dir=${profile_dir}`] : [];
    const service = await startProgram("service", [...flags, SERVICE, "start"], environment);
    closing.push(service.stop);
    const baseline = await startProgram("baseline", [BASELINE], environment);
    closing.push(baseline.stop);
    return { database_url: postgres.url, core, service, baseline, close };
  } catch (error) {
    await close();
    throw error;
  }
}

/** Like `sliproad start`, except for the number of connections. */
async function startPostgres(data_dir: string) {
  const first = await startEmbeddedPostgres({ data_dir });
  const core = await openCore(readConfig({ SLIPROAD_DATA_DIR: data_dir }), first.url);
  try {
    await core.database.query(`alter system set max_connections = ${CONNECTIONS_MAX}`);
    const [row] = await core.database.query<{ fsync: string; synchronous_commit: string }>(
      `select current_setting('fsync') as fsync,
         current_setting('synchronous_commit') as synchronous_commit`,
    );
    if (row?.fsync !== "on" || row.synchronous_commit !== "on") {
      throw new Error("the database does not write durably: nothing measured on it would count");
    }
  } finally {
    await core.database.close();
    await first.stop();
  }
  return startEmbeddedPostgres({ data_dir });
}

async function startProgram(
  name: string,
  args: string[],
  environment: Record<string, string>,
): Promise<Program> {
  const port = await findFreePort();
  const child = spawn(process.execPath, args, {
    env: { ...process.env, ...environment, PORT: String(port) },
    stdio: ["ignore", "ignore", "inherit"],
  });
  const exited = new Promise<void>((resolve) => child.once("exit", () => resolve()));
  const url = `http://127.0.0.1:${port}`;
  await untilHealthy(name, url, child);
  const stop = async () => {
    child.kill("SIGTERM");
    await exited;
  };
  return { name, url, pid: child.pid!, stop };
}

async function untilHealthy(name: string, url: string, child: ChildProcess): Promise<void> {
  const deadline = Date.now() + READY_MAX_MS;
  while (Date.now() < deadline && child.exitCode === null) {
    const answer = await fetch(`${url}/healthz`).catch(() => null);
    await answer?.body?.cancel();
    if (answer?.ok) return;
    await sleep(50);
  }
  child.kill("SIGKILL");
  throw new Error(`the ${name} did not start`);
}

async function findFreePort(): Promise<number> {
  const probe = createServer();
  await new Promise<void>((resolve) => probe.listen(0, "127.0.0.1", resolve));
  const { port } = probe.address() as { port: number };
  await new Promise((resolve) => probe.close(resolve));
  return port;
}

/** The process's peak memory since the last reset, in megabytes; null outside Linux. */
export async function peakMemory({ pid }: Program): Promise<number | null> {
  const status = await readFile(`/proc/${pid}/status`, "utf8").catch(() => "");
  const kilobytes = /^VmHWM:\s+(\d+) kB$/m.exec(status)?.[1];
  return kilobytes === undefined ? null : Number(kilobytes) / 1024;
}

/** Resets the peak (Linux: see proc(5), clear_refs). */
export async function resetPeakMemory({ pid }: Program): Promise<void> {
  await writeFile(`/proc/${pid}/clear_refs`, "5").catch(() => {});
}
