import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import type { Command } from "commander";
import { type Core, createApp } from "../app.ts";
import { type Config, readConfig } from "../platform/config/config.ts";
import { claimDataDir } from "../platform/instance.ts";
import { StartupError } from "../platform/startup-error.ts";
import { openCoreOrSay, startOwn } from "./context.ts";
import { greet } from "./greeting.ts";

type Parts = { api: boolean; worker: boolean };

export function addStartCommands(program: Command): void {
  program
    .command("start")
    .description("run everything: embedded PostgreSQL (unless DATABASE_URL is set), API and worker")
    .action(() => run({ api: true, worker: true }));
  program
    .command("api")
    .description("run only the API; needs DATABASE_URL")
    .action(() => run({ api: true, worker: false }));
  program
    .command("worker")
    .description("run only the worker; needs DATABASE_URL")
    .action(() => run({ api: false, worker: true }));
}

async function run(parts: Parts): Promise<void> {
  const config = readConfig(process.env);
  const stopping = stopSignal();
  const is_whole = parts.api && parts.worker;
  if (!is_whole && !config.database_url) {
    throw new StartupError("DATABASE_URL must name the database that the halves share.");
  }
  const home = await openHome(config, is_whole);
  try {
    const core = await openCoreOrSay(config, home.url);
    await serve(core, parts, home, stopping);
  } finally {
    await home.release();
  }
}

type Home = {
  url: string;
  notice: string | null;
  /** Ends when the embedded database does, which nobody asked it to. */
  lost: Promise<unknown>;
  write(info: Record<string, unknown>): Promise<void>;
  release(): Promise<void>;
};

async function openHome(config: Config, is_whole: boolean): Promise<Home> {
  const never = new Promise<never>(() => {});
  if (!config.database_url) {
    const { url, claim, postgres, release } = await startOwn(config);
    return { url, notice: postgres.notice, lost: postgres.exited, write: claim.write, release };
  }
  const url = config.database_url;
  if (!is_whole) {
    return { url, notice: null, lost: never, write: async () => {}, release: async () => {} };
  }
  const claim = await claimDataDir(config.data_dir);
  return { url, notice: null, lost: never, write: claim.write, release: claim.release };
}

async function serve(core: Core, parts: Parts, home: Home, stopping: Promise<void>): Promise<void> {
  const { config } = core;
  let public_url = config.public_url ?? "";
  const app = await createApp(core, () => public_url);
  try {
    if (parts.api) {
      const port = await listen(app.server, config);
      const host = config.host.includes(":") ? `[${config.host}]` : config.host;
      public_url ||= `http://${host}:${port}`;
    }
    if (parts.worker) app.worker.start();
    await keepSandboxKey(core);
    await home.write({ database_url: home.url, public_url });
    if (parts.api) greet({ public_url, core, notice: home.notice });
    const lost = home.lost.then(() => "lost");
    if ((await Promise.race([stopping, lost])) === "lost") {
      throw new StartupError(
        "The embedded database ended; see postgres.log in the data directory.",
      );
    }
  } finally {
    await app.close();
  }
}

/** The sandbox keeps its own first key, so that the command line can use it. */
async function keepSandboxKey({ config, first_start }: Core): Promise<void> {
  if (config.mode !== "sandbox" || !first_start.created) return;
  const file = join(config.data_dir, "sandbox-api-key");
  await writeFile(file, `${first_start.created.api_key}\n`, { mode: 0o600 });
}

async function listen(
  server: Awaited<ReturnType<typeof createApp>>["server"],
  config: Config,
): Promise<number> {
  try {
    await server.listen({ host: config.host, port: config.port });
  } catch (error) {
    const { code } = error as { code?: string };
    const reasons: Record<string, string> = {
      EADDRINUSE: "is taken by another program; stop it or set PORT to another one",
      EACCES: "may not be used by this user; set PORT to one above 1023",
      EADDRNOTAVAIL: "cannot be used: HOST is not an address of this machine",
    };
    const reason = reasons[code ?? ""];
    if (!reason) throw error;
    throw new StartupError(`Port ${config.port} on ${config.host} ${reason}.`);
  }
  return (server.server.address() as { port: number }).port;
}

/** Resolves at the first Ctrl-C or SIGTERM. A second one, after a while, ends the process hard. */
function stopSignal(): Promise<void> {
  const REPEAT_IGNORED_MS = 1_000;
  return new Promise((resolve) => {
    let first_ms: number | undefined;
    const onSignal = () => {
      if (first_ms !== undefined && performance.now() - first_ms > REPEAT_IGNORED_MS)
        process.exit(1);
      first_ms ??= performance.now();
      resolve();
    };
    for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"] as const) process.on(signal, onSignal);
  });
}
