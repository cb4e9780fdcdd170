import type { Command } from "commander";
import { checkLiveSettings } from "../../app/live-settings.ts";
import type { RunningApp } from "../../app/open-app.ts";
import type { Core } from "../../app/open-core.ts";
import { loadLibrary } from "../../apps/oauth/load-library.ts";
import { type Config, readSettings } from "../../platform/config/config.ts";
import { unknownSettings } from "../../platform/config/unknown-settings.ts";
import { listenOnPort } from "../../platform/http/listeners.ts";
import { claimDataDir } from "../../platform/instance.ts";
import { StartupError } from "../../platform/startup-error.ts";
import { openCoreOrSay, startOwn } from "../context.ts";
import { type FirstSecrets, keepFirstSecrets, keepSandboxKey } from "../first-start.ts";
import { type JsonOption, printDocument } from "../output.ts";
import { greetingLines, readyFacts } from "./greeting.ts";

type StartOptions = JsonOption & { canary?: string };
type Parts = { api: boolean; worker: boolean };

export function addStartCommands(program: Command): void {
  const add = (name: string, parts: Parts, description: string) => {
    const command = program.command(name).description(description);
    if (parts.worker) {
      const meaning = "send payouts above this amount only on rails where the bank has booked one";
      command.option("--canary <usd>", meaning);
    }
    command.action((options: StartOptions) => run(parts, options));
  };
  const whole = "run Sliproad: embedded PostgreSQL (unless DATABASE_URL is set), API and worker";
  add("start", { api: true, worker: true }, whole);
  add("api", { api: true, worker: false }, "run only the API; needs DATABASE_URL");
  add("worker", { api: false, worker: true }, "run only the worker; needs DATABASE_URL");
}

async function run(parts: Parts, options: StartOptions): Promise<void> {
  if (options.canary !== undefined) process.env.SLIPROAD_CANARY_USD = options.canary;
  for (const why of unknownSettings(process.env)) console.error(`sliproad: ${why}.`);
  const config = readSettings(process.env);
  const stopping = stopSignal();
  const is_whole = parts.api && parts.worker;
  if (!is_whole && !config.database_url) {
    throw new StartupError("DATABASE_URL must be set: API and worker share that database.");
  }
  // Before anything is created: no database, no keys.
  checkLiveSettings(config, parts);
  const home = await openHome(config, is_whole);
  let is_serving = false;
  try {
    const core = await openCoreOrSay(config, home.url);
    await keepSandboxKey(core);
    const has_terminal = process.stdout.isTTY === true && !options.json;
    const secrets = await keepFirstSecrets(core, has_terminal);
    await printSecretsOnce({ core, options, secrets }, (onReady) => {
      const service = { core, parts, home, options, secrets };
      return serve(service, stopping, (...facts) => {
        is_serving = true;
        onReady(...facts);
      });
    });
    is_serving = false;
  } finally {
    await home.close({ has_died: is_serving });
  }
}

/** A first start that fails later (the port is taken) has still created its keys. */
async function printSecretsOnce(
  { core, options, secrets }: Pick<Service, "core" | "options" | "secrets">,
  work: (onReady: OnReady) => Promise<void>,
): Promise<void> {
  let is_printed = false;
  try {
    await work((public_url, greeting) => {
      is_printed = true;
      const lines = greeting ?? secrets.lines;
      if (options.json) printDocument({ ready: readyFacts(core, public_url, secrets) });
      else if (lines.length > 0) console.log(lines.join("\n"));
    });
  } finally {
    const say = options.json ? console.error : console.log;
    if (!is_printed && secrets.lines.length > 0) say(secrets.lines.join("\n"));
  }
}

/** The greeting is null without a URL, as for a worker. */
type OnReady = (public_url: string | null, greeting: string[] | null) => void;

type Home = {
  url: string;
  notice: string | null;
  /** Resolves when the embedded database ends unexpectedly. */
  lost: Promise<unknown>;
  write(info: Record<string, unknown>): Promise<void>;
  /** After a crash the state file is kept, so that doctor can report it. */
  close(end: { has_died: boolean }): Promise<void>;
};

async function openHome(config: Config, is_whole: boolean): Promise<Home> {
  const external = {
    url: config.database_url ?? "",
    notice: null,
    lost: new Promise<never>(() => {}),
  };
  if (!is_whole) return { ...external, write: async () => {}, close: async () => {} };
  const own = config.database_url ? null : await startOwn(config);
  const claim = own?.claim ?? (await claimDataDir(config.data_dir));
  const close: Home["close"] = async ({ has_died }) => {
    await own?.postgres.stop();
    if (!has_died) await claim.release();
  };
  if (!own) return { ...external, write: claim.write, close };
  const { notice, exited: lost } = own.postgres;
  return { url: own.url, notice, lost, write: claim.write, close };
}

type Service = {
  core: Core;
  parts: Parts;
  home: Home;
  options: JsonOption;
  secrets: FirstSecrets;
};

async function serve(
  { core, parts, home, options, secrets }: Service,
  stopping: Promise<void>,
  onReady: OnReady,
): Promise<void> {
  const { config } = core;
  let public_url = config.public_url ?? "";
  // With --json stdout is reserved for one document, so the log goes to stderr.
  const log = options.json ? process.stderr : undefined;
  // Imported here: other commands start in half the time without it. The OAuth library is loaded
  // before the first request, which would otherwise stop all others for as long as loading takes.
  const [{ openApp }] = await Promise.all([
    import("../../app/open-app.ts"),
    parts.api ? loadLibrary() : undefined,
  ]);
  const app = await openApp(core, () => public_url, undefined, log);
  const health = parts.api ? undefined : app.createHealthServer();
  try {
    if (health) await listen(health, config.host, config.worker_port, "SLIPROAD_WORKER_PORT");
    if (parts.api) {
      const port = await listen(app.server, config.host, config.port, "PORT");
      const host = config.host.includes(":") ? `[${config.host}]` : config.host;
      public_url ||= `http://${host}:${port}`;
    }
    if (parts.worker) app.worker.start();
    await home.write({ database_url: home.url, public_url });
    if (parts.api)
      onReady(public_url, greetingLines({ public_url, core, secrets, notice: home.notice }));
    else onReady(null, null);
    const lost = home.lost.then(() => "lost");
    if ((await Promise.race([stopping, lost])) === "lost") {
      throw new StartupError(
        "The embedded database stopped; see postgres.log in the data directory.",
      );
    }
  } finally {
    await health?.close();
    await app.close();
  }
}

async function listen(
  server: RunningApp["server"],
  host: string,
  port: number,
  setting: string,
): Promise<number> {
  try {
    return await listenOnPort(server, { host, port });
  } catch (error) {
    const { code } = error as { code?: string };
    const reasons: Record<string, string> = {
      EADDRINUSE: `is used by another program; stop it or set ${setting} to another one`,
      EACCES: `cannot be used by this user; set ${setting} to one above 1023`,
      EADDRNOTAVAIL: "cannot be used: HOST is not an address of this machine",
    };
    const reason = reasons[code ?? ""];
    if (!reason) throw error;
    throw new StartupError(`Port ${port} on ${host} ${reason}.`);
  }
}

/** Resolves at the first Ctrl-C or SIGTERM. A second one, after a while, kills the process. */
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
