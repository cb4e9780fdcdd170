import { access, constants, statfs } from "node:fs/promises";
import type { Command } from "commander";
import { type Config, readConfig } from "../platform/config/config.ts";
import { readInstance } from "../platform/instance.ts";
import { StartupError } from "../platform/startup-error.ts";
import { type JsonOption, print, withCore } from "./context.ts";

type Finding = { check: string; ok: boolean; finding: string };

const DISK_FREE_MIN_BYTES = 500_000_000;
const ANSWER_MAX_MS = 5_000;

export function addDoctorCommand(program: Command): void {
  program
    .command("doctor")
    .description("say what is wrong with this installation and how to mend it")
    .option("--json", "print one JSON document")
    .action(async (options: JsonOption) => {
      const findings = await examine();
      const ok = findings.every((finding) => finding.ok);
      print(options, { ok, findings }, [
        ...findings.map(
          ({ check, ok, finding }) => `${ok ? "ok   " : "WRONG"} ${check}: ${finding}`,
        ),
        ok ? "All is well." : "Mend what is marked WRONG, then run sliproad doctor again.",
      ]);
      if (!ok) process.exitCode = 1;
    });
}

async function examine(): Promise<Finding[]> {
  let config: Config;
  try {
    config = readConfig(process.env);
  } catch (error) {
    return [{ check: "settings", ok: false, finding: (error as Error).message }];
  }
  const findings = [{ check: "settings", ok: true, finding: `${config.mode} mode` }];
  for (const check of [checkNode, checkDataDir, checkDisk, checkDatabase, checkService]) {
    findings.push(await check(config));
  }
  return findings;
}

async function checkNode(): Promise<Finding> {
  const major = Number(process.versions.node.split(".")[0]);
  const mend = "run npm ci, then start through bin/sliproad or npm start";
  const finding = major >= 26 ? process.version : `${process.version} is too old; ${mend}`;
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
    return { check: "disk", ok, finding: ok ? free : `only ${free}; make room before it runs out` };
  } catch {
    return { check: "disk", ok: true, finding: "not known before the first start" };
  }
}

async function checkDatabase(): Promise<Finding> {
  try {
    const version = await withCore(async ({ database }) => {
      const [row] = await database.query<{ server_version: string }>("show server_version");
      return row!.server_version;
    });
    const ok = Number.parseInt(version, 10) >= 15;
    const finding = `PostgreSQL ${version}, migrated, with the right key and mode`;
    return { check: "database", ok, finding: ok ? finding : `${finding}; use version 15 or later` };
  } catch (error) {
    if (!(error instanceof StartupError)) throw error;
    return { check: "database", ok: false, finding: error.message };
  }
}

/** Asks the running service itself; a stopped one is not a fault of the installation. */
async function checkService(config: Config): Promise<Finding> {
  const instance = await readInstance(config.data_dir).catch(() => null);
  const url = instance?.public_url ?? config.public_url;
  if (!url) return { check: "service", ok: true, finding: "not running; sliproad start runs it" };
  try {
    const signal = AbortSignal.timeout(ANSWER_MAX_MS);
    const answer = await fetch(`${url}/readyz`, { signal });
    const { problems = [] } = (await answer.json()) as { problems?: string[] };
    return {
      check: "service",
      ok: answer.ok,
      finding: answer.ok ? `ready at ${url}` : problems.join(" "),
    };
  } catch (error) {
    const finding = `${url} does not answer (${(error as Error).message}); start it again`;
    return { check: "service", ok: false, finding };
  }
}
