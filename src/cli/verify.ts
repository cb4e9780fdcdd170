import { createReadStream } from "node:fs";
import { access, constants, stat } from "node:fs/promises";
import { createInterface } from "node:readline";
import type { Command } from "commander";
import type { Core } from "../app/open-core.ts";
import { signingKey } from "../platform/sealing/seal.ts";
import { signingSeed } from "../platform/sealing/signing-seed.ts";
import { StartupError } from "../platform/startup-error.ts";
import { realTime } from "../platform/tasks/real-time.ts";
import { type Verification, type VerifyProgress, verify } from "../verify/verify.ts";
import { withCore } from "./context.ts";
import { type JsonOption, print } from "./output.ts";
import { type Progress, withProgress } from "./progress.ts";

type Options = JsonOption & { anchor?: string };

export function addVerifyCommand(program: Command): void {
  program
    .command("verify")
    .description("recompute sealed logs, ledger and payouts, and print the first row that is wrong")
    .option(
      "--anchor <file>",
      "a log file of the service: the anchors in it must match the database",
    )
    .action(async (options: Options) => {
      const { accounts, fault } = await withProgress(options, (progress) =>
        withCore((core) => run(core, options.anchor, progress)),
      );
      const verified = `Verified ${accounts} ${accounts === 1 ? "account" : "accounts"}`;
      const sentence = fault ? `Wrong: ${fault}.` : `${verified}: no problems found.`;
      print(options, { ok: fault === null, accounts, fault }, [sentence]);
      if (fault) process.exitCode = 1;
    });
}

async function run(
  core: Core,
  anchor: string | undefined,
  progress: Progress,
): Promise<Verification> {
  const { config, database, clock, keyring, index_key } = core;
  const key = signingKey(signingSeed(config));
  const onProgress = ({ accounts_done, accounts, pages }: VerifyProgress) =>
    progress.show({
      done: accounts_done,
      total: accounts,
      unit: "accounts",
      note: `${pages} pages read`,
    });
  const input = { now: clock.now(), real_now: realTime(clock), keyring, index_key, onProgress };
  if (anchor === undefined) return verify(database, key, input);
  await checkReadable(anchor);
  return verify(database, key, { ...input, anchors: linesOf(anchor) });
}

async function checkReadable(file: string): Promise<void> {
  const is_directory = await stat(file)
    .then(async (found) => {
      await access(file, constants.R_OK);
      return found.isDirectory();
    })
    .catch(() => {
      throw new StartupError(`--anchor ${file} cannot be read; pass a log file of the service.`);
    });
  if (is_directory) {
    throw new StartupError(`--anchor ${file} is a directory; pass a log file of the service.`);
  }
}

/** Opened when the first line is requested: readline drops lines that it reads before that. */
async function* linesOf(file: string): AsyncGenerator<string> {
  yield* createInterface({ input: createReadStream(file), crlfDelay: Infinity });
}
