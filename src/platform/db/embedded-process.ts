import { type ChildProcess, spawn } from "node:child_process";
import { open, readFile, readlink, rename, rm, stat } from "node:fs/promises";
import { createServer } from "node:net";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import pg from "pg";
import { MINUTE_MS } from "../durations.ts";
import { pidExists } from "../process-identity.ts";
import { StartupError } from "../startup-error.ts";
import { type Binaries, binaryPath } from "./embedded-binaries.ts";
import { type Cluster, serverEnvironment } from "./embedded-cluster.ts";

export type Server = {
  port: number;
  exited: Promise<number | null>;
  stop(): Promise<void>;
};

const START_ATTEMPTS_MAX = 40;
const START_PAUSE_MS = 250;
/** Recovery after a crash replays up to a gigabyte of log before the server is ready. */
const READY_TIMEOUT_MS = 10 * MINUTE_MS;
const POLL_MS = 20;
const STOP_TIMEOUT_MS = 10_000;
const LOG_BYTES_MAX = 10 * 1024 * 1024;

/** Another process took the port meanwhile, or children of a killed server still run. */
const PASSING = /could not create any TCP\/IP sockets|pre-existing shared memory block/;

/** Said by the children of a killed server while they end: not why the next one did not start. */
const OF_EARLIER = /unexpected postmaster exit/;

/** Starts the server of a cluster and waits until it accepts connections. */
export async function startServer(binaries: Binaries, cluster: Cluster, log_file: string) {
  let reason = "";
  for (let attempt = 1; attempt <= START_ATTEMPTS_MAX; attempt++) {
    const log_start = await rotateLog(log_file);
    const port = await findFreePort();
    const server = await launch(binaries, cluster, port, log_file);
    if (await untilReady(server, cluster)) return server;
    await server.stop();
    reason = server.spawn_error() ?? (await readFailure(log_file, log_start));
    if (!PASSING.test(reason)) break;
    await sleep(START_PAUSE_MS);
  }
  throw new StartupError(`PostgreSQL did not start (${reason}); its log is ${log_file}.`);
}

/**
 * A killed instance leaves its server running. The caller owns the data directory, so a server of
 * this cluster that still runs is an orphan: stop it.
 */
export async function stopOrphan(cluster: Cluster, urlOf: (port: number) => string) {
  const lock_file = join(cluster.directory, "postmaster.pid");
  const lines = await readLines(lock_file);
  const pid = Number(lines[0]);
  if (!pidExists(pid)) return;
  const holder = await findHolder(pid, cluster, urlOf(Number(lines[3])));
  // The pid now belongs to another process, as happens whenever a container restarts; the server
  // would only see that the process exists, and refuse to start.
  if (holder === "stranger") await rm(lock_file, { force: true });
  if (holder !== "orphan") return;
  for (const signal of ["SIGINT", "SIGQUIT"] as const) {
    process.kill(pid, signal);
    const deadline = Date.now() + STOP_TIMEOUT_MS;
    while (Date.now() < deadline) {
      // The lock file is removed before the process ends, and an unreaped process never disappears.
      if (!pidExists(pid) || (await readLines(lock_file))[0] !== lines[0]) return;
      await sleep(POLL_MS);
    }
  }
  throw new StartupError(
    `A PostgreSQL left over on ${cluster.directory} (process ${pid}) does not stop; stop that ` +
      `process, then start again.`,
  );
}

type Launched = Server & { pid: number | undefined; spawn_error(): string | null };

async function launch(
  binaries: Binaries,
  cluster: Cluster,
  port: number,
  log_file: string,
): Promise<Launched> {
  const log = await open(log_file, "a", 0o600);
  let spawn_error: string | null = null;
  const child = spawn(binaryPath(binaries, "postgres"), serverArguments(cluster, port), {
    ...(cluster.user ? { uid: cluster.user.uid, gid: cluster.user.gid } : {}),
    cwd: "/",
    env: serverEnvironment(),
    // A separate process group: Ctrl-C in the terminal must reach only us; we stop the server once
    // the requests in progress are answered.
    detached: true,
    stdio: ["ignore", log.fd, log.fd],
  });
  const exited = new Promise<number | null>((done) => {
    child.on("exit", done);
    child.on("error", (error) => {
      spawn_error = error.message;
      done(null);
    });
  });
  await log.close();
  const stop = () => stopChild(child, exited);
  return { port, pid: child.pid, exited, stop, spawn_error: () => spawn_error };
}

/** Memory and connections keep initdb's choice for the machine, which operators may edit. */
function serverArguments(cluster: Cluster, port: number): string[] {
  const settings = {
    port,
    listen_addresses: "127.0.0.1",
    // A socket file would need a directory that both users can access.
    unix_socket_directories: "",
    // Details and statements contain values of rows, including personal data; the program gets the
    // whole error anyway.
    log_error_verbosity: "terse",
    log_min_error_statement: "panic",
  };
  const options = Object.entries(settings).flatMap(([name, value]) => ["-c", `${name}=${value}`]);
  return ["-D", cluster.directory, ...options];
}

async function stopChild(child: ChildProcess, exited: Promise<number | null>): Promise<void> {
  const signals = ["SIGINT", "SIGQUIT", "SIGKILL"] as const;
  let next = 0;
  const escalate = () => {
    const signal = signals[next++];
    if (signal) child.kill(signal);
  };
  escalate();
  const timer = setInterval(escalate, STOP_TIMEOUT_MS);
  await exited.finally(() => clearInterval(timer));
}

/** Reads the server's lock file: a connection could reach another program on that port. */
async function untilReady(server: Launched, cluster: Cluster): Promise<boolean> {
  let gone = false;
  void server.exited.then(() => {
    gone = true;
  });
  const deadline = Date.now() + READY_TIMEOUT_MS;
  while (!gone && Date.now() < deadline) {
    const lines = await readLines(join(cluster.directory, "postmaster.pid"));
    if (lines[0] === String(server.pid) && lines[7]?.trim() === "ready") return true;
    await sleep(POLL_MS);
  }
  return false;
}

async function findHolder(pid: number, cluster: Cluster, url: string) {
  if (process.platform === "linux") {
    // The server changes its working directory to the cluster before it writes the lock file.
    const place = await readlink(`/proc/${pid}/cwd`).catch((error) => error.code as string);
    if (place === cluster.directory) return "orphan";
    return place.startsWith("/") || place === "ENOENT" ? "stranger" : "unknown";
  }
  const client = new pg.Client({ connectionString: url, connectionTimeoutMillis: 5_000 });
  client.on("error", () => {});
  try {
    await client.connect();
    const { rows } = await client.query("show data_directory");
    return rows[0]?.data_directory === cluster.directory ? "orphan" : "unknown";
  } catch {
    return "unknown";
  } finally {
    await client.end().catch(() => {});
  }
}

async function readLines(path: string): Promise<string[]> {
  return (await readFile(path, "utf8").catch(() => "")).split("\n");
}

async function findFreePort(): Promise<number> {
  const probe = createServer();
  await new Promise<void>((done, fail) => {
    probe.once("error", fail).listen(0, "127.0.0.1", done);
  });
  const address = probe.address();
  await new Promise((done) => probe.close(done));
  if (address === null || typeof address === "string") throw new Error("no port was given");
  return address.port;
}

/** Keeps one older file; returns the offset at which the new start's lines will begin. */
async function rotateLog(log_file: string): Promise<number> {
  const size = (await stat(log_file).catch(() => null))?.size ?? 0;
  if (size <= LOG_BYTES_MAX) return size;
  await rename(log_file, `${log_file}.1`);
  return 0;
}

async function readFailure(log_file: string, start: number): Promise<string> {
  const bytes = await readFile(log_file).catch(() => Buffer.alloc(0));
  const lines = bytes.subarray(start).toString("utf8").split("\n");
  const fatal = lines.findLast((line) => /\b(FATAL|PANIC):/.test(line) && !OF_EARLIER.test(line));
  const last = fatal ?? lines.findLast((line) => line.trim() !== "");
  return last?.replace(/^.*?\b(FATAL|PANIC):\s*/, "").trim() ?? "it gave no reason";
}
