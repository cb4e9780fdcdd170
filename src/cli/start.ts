import type { Command } from "commander";
import { type Core, createApp } from "../app.ts";
import { type Config, readConfig } from "../platform/config/config.ts";
import { claimDataDir } from "../platform/instance.ts";
import { StartupError } from "../platform/startup-error.ts";
import { openCoreOrSay, startOwn } from "./context.ts";
import { keepSandboxKey, tellFirstStart } from "./first-start.ts";
import { greetingLines } from "./greeting.ts";

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
    await keepSandboxKey(core);
    await tellOnce(core, (onReady) => serve(core, parts, home, stopping, onReady));
  } finally {
    await home.release();
  }
}

/** A first start that fails later (the port is taken) has made its keys all the same. */
async function tellOnce(
  { first_start }: Core,
  work: (onReady: (greeting: string[] | null) => void) => Promise<void>,
): Promise<void> {
  const secrets = first_start.created ? tellFirstStart(first_start.created) : [];
  let is_told = false;
  const tell = (lines: string[]) => {
    is_told = true;
    if (lines.length > 0) console.log(lines.join("\n"));
  };
  try {
    await work((greeting) => tell(greeting ?? secrets));
  } finally {
    if (!is_told) tell(secrets);
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

async function serve(
  core: Core,
  parts: Parts,
  home: Home,
  stopping: Promise<void>,
  onReady: (greeting: string[] | null) => void,
): Promise<void> {
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
    await home.write({ database_url: home.url, public_url });
    onReady(parts.api ? greetingLines({ public_url, core, notice: home.notice }) : null);
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
