import { randomUUID } from "node:crypto";
import { once } from "node:events";
import { mkdtemp, rm } from "node:fs/promises";
import { type AddressInfo, connect, createServer, type Server, type Socket } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { type EmbeddedPostgres, startEmbeddedPostgres } from "../../src/platform/db/embedded.ts";
import { type Running, runCommand, startCommand } from "../harness/command-line.ts";
import { findServerPid } from "../harness/database-pair.ts";
import { type CallOptions, callServer, type TestServer } from "../harness/server.ts";
import { waitFor } from "../harness/wait-for.ts";

export const PARTS = ["api", "worker", "postgres"] as const;
export type Part = (typeof PARTS)[number];

/** API, worker and PostgreSQL as processes, each started again when it has ended. */
export type MortalService = Pick<TestServer, "call" | "url" | "key"> & {
  database_url: string;
  /** Waits until all parts serve. */
  untilReady(): Promise<void>;
  /** Ends a part as a power failure would. */
  kill(part: Part): void;
  /** Runs a command of the program on the same installation. */
  run(...args: string[]): ReturnType<typeof runCommand>;
  close(): Promise<void>;
};

const KEY = "sk_test_mortal_service_000000000000000000";
const RESTART_MS = 100;
/** A request is repeated for this long until it has a certain answer. */
const CERTAIN_MAX_MS = 120_000;

export async function startMortalService(
  environment: Record<string, string> = {},
): Promise<MortalService> {
  const data_dir = await mkdtemp(join(tmpdir(), "sliproad-mortal-"));
  const state: State = { is_closing: false, postgres: null, children: new Map() };
  const serving = await keepPostgres(state, data_dir);
  const database_port = (serving.proxy.address() as AddressInfo).port;
  const url = new URL(state.postgres!.url);
  url.port = String(database_port);
  const port = await findFreePort();
  const settings = {
    DATABASE_URL: url.href,
    SLIPROAD_DATA_DIR: data_dir,
    SLIPROAD_API_KEY: KEY,
    SLIPROAD_ADMIN_PASSWORD: randomUUID(),
    SLIPROAD_LOG_LEVEL: "silent",
    SLIPROAD_RATE_LIMIT: "0",
    SLIPROAD_QUOTES_OPEN_MAX: "0",
    SLIPROAD_WORKER_PORT: "0",
    PORT: String(port),
    ...environment,
  };
  await runCommand(["migrate"], settings);
  const kept = (["api", "worker"] as const).map((part) => keepProcess(state, part, settings));
  const service_url = `http://127.0.0.1:${port}`;
  return {
    url: service_url,
    key: KEY,
    database_url: url.href,
    call: (method, path, body, options = {}) =>
      callUntilCertain(service_url, method, path, body, options),
    untilReady: async () => {
      await waitFor(() => isReady(service_url), CERTAIN_MAX_MS);
    },
    kill: (part) => {
      if (part === "postgres") process.kill(serving.pid(), "SIGKILL");
      else state.children.get(part)?.child.kill("SIGKILL");
    },
    run: (...args) => runCommand(args, settings),
    close: async () => {
      state.is_closing = true;
      for (const { child } of state.children.values()) child.kill("SIGKILL");
      await Promise.all(kept);
      await serving.close();
      await rm(data_dir, { recursive: true, force: true });
    },
  };
}

type State = {
  is_closing: boolean;
  postgres: EmbeddedPostgres | null;
  children: Map<Part, Running>;
};

/** A supervisor: a process that cannot reach its database at the start ends, and is started again. */
async function keepProcess(
  state: State,
  part: "api" | "worker",
  settings: Record<string, string>,
): Promise<void> {
  while (!state.is_closing) {
    const running = startCommand([part], settings);
    state.children.set(part, running);
    await running.ended;
    await sleep(RESTART_MS);
  }
}

/** The server gets another port at each start; the proxy's stays. */
async function keepPostgres(state: State, data_dir: string) {
  const cluster_dir = join(data_dir, "database");
  let pid = 0;
  const start = async () => {
    state.postgres = await startEmbeddedPostgres({ data_dir: cluster_dir });
    pid = await findServerPid(cluster_dir);
  };
  let starting = start();
  await starting;
  const proxy = await startProxy(() => Number(new URL(state.postgres!.url).port));
  const kept = (async () => {
    for (;;) {
      await state.postgres!.exited;
      if (state.is_closing) return;
      starting = start();
      await starting;
    }
  })();
  return {
    proxy,
    pid: () => pid,
    close: async () => {
      await starting;
      await state.postgres!.stop();
      await kept;
      proxy.close();
    },
  };
}

async function startProxy(port: () => number): Promise<Server> {
  const proxy = createServer((client) => {
    const upstream = connect(port(), "127.0.0.1");
    const cut = (other: Socket) => () => other.destroy();
    client.on("error", cut(upstream)).on("close", cut(upstream));
    upstream.on("error", cut(client)).on("close", cut(client));
    client.pipe(upstream).pipe(client);
  });
  proxy.listen(0, "127.0.0.1");
  await once(proxy, "listening");
  return proxy;
}

async function isReady(url: string): Promise<boolean> {
  return fetch(`${url}/readyz`).then(
    ({ ok }) => ok,
    () => false,
  );
}

/** As a careful caller does: the same key until the answer is certain. */
async function callUntilCertain(
  url: string,
  method: string,
  path: string,
  body: unknown,
  options: CallOptions,
) {
  const own: Record<string, string> = method === "GET" ? {} : { "idempotency-key": randomUUID() };
  const headers = { ...own, ...options.headers };
  const end_ms = performance.now() + CERTAIN_MAX_MS;
  for (;;) {
    try {
      const answer = await callServer(url, KEY, method, path, body, { ...options, headers });
      if (answer.status === 500) throw new Fault(`${method} ${path}: ${answer.text}`);
      if (answer.status < 500) return answer;
    } catch (error) {
      if (error instanceof Fault) throw error;
    }
    if (performance.now() > end_ms) throw new Fault(`${method} ${path} got no certain answer`);
    await sleep(RESTART_MS);
  }
}

class Fault extends Error {}

async function findFreePort(): Promise<number> {
  const probe = createServer().listen(0, "127.0.0.1");
  await once(probe, "listening");
  const { port } = probe.address() as AddressInfo;
  probe.close();
  await once(probe, "close");
  return port;
}
