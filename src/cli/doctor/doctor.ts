import { existsSync } from "node:fs";
import { access, constants, statfs } from "node:fs/promises";
import { join } from "node:path";
import type { Command } from "commander";
import { DISK_FREE_MIN_BYTES } from "../../partners/files/temporary-files.ts";
import {
  type Config,
  liveProblems,
  readConfig,
  readSettings,
} from "../../platform/config/config.ts";
import { unknownSettings } from "../../platform/config/unknown-settings.ts";
import { openDatabase } from "../../platform/db/database.ts";
import { isMigrated } from "../../platform/db/migrate.ts";
import { DatabaseUnavailableError } from "../../platform/db/outages.ts";
import { type InstanceInfo, readDeadService, readInstance } from "../../platform/instance.ts";
import { StartupError } from "../../platform/startup-error.ts";
import { withCore } from "../context.ts";
import { type JsonOption, print } from "../output.ts";
import { checkFiles } from "./check-files.ts";
import { examineDatabase } from "./checks.ts";
import type { Finding } from "./finding.ts";

const ANSWER_MAX_MS = 5_000;

export function addDoctorCommand(program: Command): void {
  program
    .command("doctor")
    .description("check this installation and show how to fix problems")
    .option("--live", "also check what live mode needs: keys, nodes, contracts, directories, rates")
    .action(async (options: JsonOption & { live?: boolean }) => {
      const findings = options.live ? await examineForLive() : await examine();
      const ok = findings.every((finding) => finding.ok);
      print(options, { ok, findings }, [
        ...findings.map((entry) => `${markOf(entry)} ${entry.check}: ${entry.finding}`),
        verdictOf(findings),
      ]);
      if (!ok) process.exitCode = 1;
    });
}

function markOf({ ok, warning }: Finding): string {
  if (!ok) return "ERROR";
  return warning ? "WARN " : "ok   ";
}

function verdictOf(findings: Finding[]): string {
  if (findings.some(({ ok }) => !ok)) {
    return "Fix the errors, then run sliproad doctor again.";
  }
  return findings.some(({ warning }) => warning)
    ? "No errors found; check the warnings."
    : "No problems found.";
}

/** Before live mode has started there is no database to look at, which is no fault then. */
async function examineForLive(): Promise<Finding[]> {
  const is_live = process.env.SLIPROAD_MODE === "live";
  let config: Config;
  try {
    config = readSettings({ ...process.env, SLIPROAD_MODE: "live" });
  } catch (error) {
    return [{ check: "settings", ok: false, finding: (error as Error).message }];
  }
  const { examineLive } = await import("./live-checks.ts");
  const live = await examineLive(config);
  if (!is_live) {
    const finding = "SLIPROAD_MODE must be live; the other settings are checked as if it were";
    return [{ check: "mode", ok: false, finding }, ...live];
  }
  if (liveProblems(config).length > 0) return live;
  if (!(await hasDatabase(config))) {
    const finding = "not created yet; sliproad start creates it";
    return [...live, { check: "database", ok: true, finding }];
  }
  return [...live, ...(await examine())];
}

/** Before the first start there is none, and looking at it would create one. */
async function hasDatabase(config: Config): Promise<boolean> {
  if (!config.database_url) return existsSync(join(config.data_dir, "postgres-password"));
  const database = openDatabase({ url: config.database_url, connections_max: 1 });
  try {
    return await isMigrated(database);
  } catch (error) {
    // The other checks say what is wrong with it.
    return error instanceof DatabaseUnavailableError;
  } finally {
    await database.close();
  }
}

async function examine(): Promise<Finding[]> {
  let config: Config;
  try {
    config = readConfig(process.env);
  } catch (error) {
    return [{ check: "settings", ok: false, finding: (error as Error).message }];
  }
  const local = [await checkNode(), await checkDataDir(config), await checkDisk(config)];
  const url = await findServiceUrl(config);
  const dead = await readDeadService(config.data_dir);
  return [
    checkSettings(config),
    ...local,
    ...(await checkFiles(config)),
    ...(await checkDatabase(url !== null)),
    await checkService(url, dead),
    { check: "ledger", ok: true, finding: "not checked here; run sliproad verify" },
  ];
}

/** A mistyped setting has no effect, and no error shows it. */
function checkSettings({ mode }: Config): Finding {
  const unknown = unknownSettings(process.env);
  const check = "settings";
  if (unknown.length === 0) return { check, ok: true, finding: `${mode} mode` };
  return { check, ok: true, warning: true, finding: `${mode} mode; ${unknown.join("; ")}` };
}

/** Another process may serve in the place of one that died. */
async function answers(url: string | null): Promise<boolean> {
  if (url === null) return false;
  const signal = AbortSignal.timeout(ANSWER_MAX_MS);
  return fetch(`${url}/healthz`, { signal }).then(
    ({ ok }) => ok,
    () => false,
  );
}

function deathOf({ pid, public_url }: InstanceInfo): Finding {
  const where = public_url ? ` at ${public_url}` : "";
  const finding =
    `the service${where} (process ${pid}) stopped unexpectedly; see its log and the system log, ` +
    "then run sliproad start";
  return { check: "service", ok: false, finding };
}

async function checkNode(): Promise<Finding> {
  const major = Number(process.versions.node.split(".")[0]);
  const advice = "run npm ci, then start through bin/sliproad or npm start";
  const finding = major >= 26 ? process.version : `${process.version} is too old; ${advice}`;
  return { check: "node", ok: major >= 26, finding };
}

async function checkDataDir({ data_dir }: Config): Promise<Finding> {
  try {
    await access(data_dir, constants.R_OK | constants.W_OK);
    return { check: "data directory", ok: true, finding: data_dir };
  } catch (error) {
    const { code } = error as { code?: string };
    const finding =
      code === "ENOENT"
        ? `${data_dir} does not exist; run sliproad start, or set SLIPROAD_DATA_DIR`
        : `${data_dir} cannot be written (${code}); give this user access or set SLIPROAD_DATA_DIR`;
    return { check: "data directory", ok: false, finding };
  }
}

async function checkDisk({ data_dir }: Config): Promise<Finding> {
  try {
    const { bavail, bsize } = await statfs(data_dir);
    const free_bytes = bavail * bsize;
    const free = `${Math.floor(free_bytes / 1_000_000)} MB free`;
    const ok = free_bytes >= DISK_FREE_MIN_BYTES;
    return { check: "disk", ok, finding: ok ? free : `only ${free}; free some disk space` };
  } catch {
    return { check: "disk", ok: true, finding: "not known before the first start" };
  }
}

async function checkDatabase(is_service_up: boolean): Promise<Finding[]> {
  try {
    return await withCore((core) => examineDatabase(core, is_service_up));
  } catch (error) {
    if (!(error instanceof StartupError)) throw error;
    return [{ check: "database", ok: false, finding: error.message }];
  }
}

/** Null where none runs here and none is configured elsewhere. */
async function findServiceUrl(config: Config): Promise<string | null> {
  const instance = await readInstance(config.data_dir).catch(() => null);
  const known = instance?.public_url || config.public_url;
  if (known) return known;
  // Separate api and worker processes leave no file in the data directory.
  const url = ownUrl(config);
  return config.database_url && (await answers(url)) ? url : null;
}

/** The URL by which this machine reaches the configured host and port. */
function ownUrl({ host, port }: Config): string {
  if (host === "0.0.0.0") return `http://127.0.0.1:${port}`;
  if (host === "::") return `http://[::1]:${port}`;
  return `http://${host.includes(":") ? `[${host}]` : host}:${port}`;
}

type ReadyBody = { problems?: string[]; notices?: string[] };

/** Asks the running service; a stopped one is not a fault of the installation. */
async function checkService(
  running_url: string | null,
  dead: InstanceInfo | null,
): Promise<Finding> {
  const check = "service";
  const url = running_url ?? (dead?.public_url || null);
  if (dead && !(await answers(url))) return deathOf(dead);
  if (url === null) return { check, ok: true, finding: "not running; run sliproad start" };
  try {
    const signal = AbortSignal.timeout(ANSWER_MAX_MS);
    const answer = await fetch(`${url}/readyz`, { signal });
    const body = (await answer.json().catch(() => null)) as ReadyBody | null;
    if (answer.ok) {
      const notices = body?.notices ?? [];
      const finding = [`ready at ${url}`, ...notices].join("; ");
      return { check, ok: true, ...(notices.length > 0 ? { warning: true } : {}), finding };
    }
    const why = body?.problems?.join(" ") ?? `${url}/readyz answered ${answer.status}.`;
    return { check, ok: false, finding: `not ready: ${why}` };
  } catch (error) {
    const finding = `${url} does not answer (${(error as Error).message}); start it again`;
    return { check, ok: false, finding };
  }
}
