import { createHash } from "node:crypto";
import { createReadStream } from "node:fs";
import { access, constants, stat } from "node:fs/promises";
import { createInterface } from "node:readline";
import type { Command } from "commander";
import type { Core } from "../app/open-core.ts";
import { openFiles } from "../partners/files/open-files.ts";
import { openClock } from "../platform/clock.ts";
import type { Config } from "../platform/config/config.ts";
import type { Database } from "../platform/db/database.ts";
import { signingKey } from "../platform/sealing/seal.ts";
import { findSigningSeed } from "../platform/sealing/signing-seed.ts";
import { StartupError } from "../platform/startup-error.ts";
import { realTime } from "../platform/tasks/real-time.ts";
import { listExportsByDigest } from "../reports/exports/store.ts";
import { insertVerification, type VerificationRun } from "../verify/runs/store.ts";
import { verifyBooks } from "../verify/runs/verify-books.ts";
import {
  type Verification,
  type VerifyInput,
  type VerifyProgress,
  verify,
} from "../verify/verify.ts";
import { withCore, withDatabase } from "./context.ts";
import { type JsonOption, print } from "./output.ts";
import { type Progress, withProgress } from "./progress.ts";

/** PostgreSQL's code for a write where only reading is possible. */
const READ_ONLY = "25006";

type Options = JsonOption & {
  anchor?: string;
  since?: string;
  export?: string;
  archives?: string;
  withoutKeys?: boolean;
};
type OnProgress = (progress: VerifyProgress) => void;

export function addVerifyCommand(program: Command): void {
  program
    .command("verify")
    .description("recompute sealed logs, ledger and payouts, and print the first row that is wrong")
    .option(
      "--anchor <file>",
      "a log file of the service: the anchors in it must match the database",
    )
    .option(
      "--since <file>",
      "the same, and check only what was sealed after the anchors in the file",
    )
    .option(
      "--without-keys",
      "check what needs only SLIPROAD_SIGNING_KEY: for a copy whose other keys are elsewhere",
    )
    .option(
      "--archives <directory>",
      "also read the files that sliproad archive wrote into this directory",
    )
    .option("--export <file>", "only say which export has the content of this file")
    .action(async (options: Options) => {
      if (options.export !== undefined) return recognizeExport(options, options.export);
      const done = await withProgress(options, (progress) => run(options, progress));
      const { accounts, fault, has_checked_macs, archives_unread } = done;
      const is_whole = options.since === undefined;
      const what = is_whole ? "" : "what was sealed after the anchors in ";
      const verified = `Verified ${what}${accounts} ${accounts === 1 ? "account" : "accounts"}`;
      const lines = [
        fault ? `Wrong: ${fault}.` : `${verified}: no problems found.`,
        ...(has_checked_macs ? [] : [UNCHECKED]),
        ...(archives_unread > 0 ? [unread(archives_unread)] : []),
      ];
      const part = is_whole ? {} : { is_whole };
      const checked = { accounts, fault, has_checked_macs, archives_unread };
      print(options, { ok: fault === null, ...checked, ...part }, lines);
      if (fault) process.exitCode = 1;
    });
}

/** Whether a file that somebody has is one that was exported here. */
async function recognizeExport(options: Options, file: string): Promise<void> {
  await checkReadable("--export", file, "an exported file");
  const hash = createHash("sha256");
  for await (const part of createReadStream(file)) hash.update(part);
  const digest = hash.digest();
  const exports = await withCore(({ database }) => listExportsByDigest(database, digest));
  const lines = exports.map(
    ({ id, kind, account_id, period_from, period_to }) =>
      `Export ${id} of account ${account_id}: ${kind} from ${period_from.toISOString()} to ` +
      `${period_to.toISOString()}.`,
  );
  const found = exports.map(({ id, account_id, kind }) => ({ id, account_id, kind }));
  const answer = { ok: found.length > 0, digest: digest.toString("hex"), exports: found };
  print(options, answer, found.length > 0 ? lines : ["No export has the content of this file."]);
  if (found.length === 0) process.exitCode = 1;
}

const UNCHECKED =
  "Without keys nobody can tell who wrote a row: MACs and encrypted values were not checked.";

function unread(archives: number): string {
  const files =
    archives === 1 ? "1 file of archived data was" : `${archives} files of archived data were`;
  return `${files} not read: pass --archives <directory>.`;
}

async function run(options: Options, progress: Progress): Promise<Verification> {
  const { anchor, since, archives, withoutKeys } = options;
  const onProgress: OnProgress = ({ accounts_done, accounts, pages }) =>
    progress.show({
      done: accounts_done,
      total: accounts,
      unit: "accounts",
      note: `${pages} pages read`,
    });
  if (anchor !== undefined) await checkReadable("--anchor", anchor, "a log file of the service");
  if (since !== undefined) await checkReadable("--since", since, "a log file of the service");
  if (archives !== undefined) await checkDirectory(archives);
  const more = {
    onProgress,
    ...(archives === undefined ? {} : { archives }),
    ...(anchor === undefined ? {} : { anchors: linesOf(anchor) }),
    ...(since === undefined ? {} : { since: linesOf(since) }),
  };
  if (withoutKeys) {
    return withDatabase((database, config) => runWithoutKeys(database, config, more));
  }
  return withCore(async (core) => {
    const files = await openFiles(core.config);
    const done = await verifyBooks({ ...core, files }, more);
    // The dashboard shows when everything was checked.
    if (since === undefined) await record(core, done);
    return { ...done, has_checked_macs: true };
  });
}

async function runWithoutKeys(
  database: Database,
  config: Config,
  more: Pick<VerifyInput, "anchors" | "since" | "archives" | "onProgress">,
): Promise<Verification> {
  const seed = findSigningSeed(config);
  if (!seed) throw new StartupError("SLIPROAD_SIGNING_KEY is needed: it made the signatures.");
  const clock = await openClock(database);
  const times = { now: clock.now(), real_now: realTime(clock) };
  return verify(database, signingKey(seed), { ...times, ...more });
}

/** Keeps the result for the dashboard; a copy of the database that is only read keeps none. */
async function record({ database, index_key }: Core, run: VerificationRun): Promise<void> {
  try {
    await database.transaction(async (tx) => insertVerification(tx, index_key, run));
  } catch (error) {
    if ((error as { code?: string }).code !== READ_ONLY) throw error;
  }
}

async function checkReadable(option: string, file: string, wanted: string): Promise<void> {
  const is_directory = await stat(file)
    .then(async (found) => {
      await access(file, constants.R_OK);
      return found.isDirectory();
    })
    .catch(() => {
      throw new StartupError(`${option} ${file} cannot be read; pass ${wanted}.`);
    });
  if (is_directory) {
    throw new StartupError(`${option} ${file} is a directory; pass ${wanted}.`);
  }
}

async function checkDirectory(path: string): Promise<void> {
  const found = await stat(path).catch(() => null);
  if (found?.isDirectory()) return;
  throw new StartupError(`--archives ${path} is no directory; pass that of sliproad archive --to.`);
}

/** Opened when the first line is requested: readline drops lines that it reads before that. */
async function* linesOf(file: string): AsyncGenerator<string> {
  yield* createInterface({ input: createReadStream(file), crlfDelay: Infinity });
}
