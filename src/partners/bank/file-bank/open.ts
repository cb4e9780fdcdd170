import { accessSync, constants, readFileSync } from "node:fs";
import type { Clock } from "../../../platform/clock.ts";
import type { Database } from "../../../platform/db/database.ts";
import { MINUTE_MS } from "../../../platform/durations.ts";
import type { Keyring } from "../../../platform/encryption/keyring.ts";
import type { Module } from "../../../platform/module.ts";
import { StartupError } from "../../../platform/startup-error.ts";
import { realTime } from "../../../platform/tasks/real-time.ts";
import { recurringTask } from "../../../platform/tasks/recurring-task.ts";
import type { TaskLog } from "../../../platform/tasks/task-log.ts";
import { ALWAYS_LEAVING, type Leaving } from "../../leaving.ts";
import type { PartialBank } from "../combine-banks.ts";
import { closeFiles } from "./close-files.ts";
import { createFileBank } from "./file-bank.ts";
import { loadBanks } from "./load-banks.ts";
import { bankMetrics } from "./metrics.ts";
import type { FileBankSettings } from "./model.ts";
import { listSetAside, readInbox } from "./read-inbox.ts";
import { rereadDone } from "./recover/reread-done.ts";
import { countUnproven } from "./store.ts";
import type { FindStopped } from "./submit-payments.ts";
import { downloadReports, newFetchState } from "./transfer/download-reports.ts";
import { countOverdueFiles, listOtherAccounts } from "./unwritten-store.ts";
import { writeFiles } from "./write-files.ts";

type OpenDeps = {
  database: Database;
  keyring: Keyring;
  index_key: Buffer;
  clock: Clock;
  operator_id: string;
  findStopped: FindStopped;
  leaving?: Leaving;
};

const RUN_EVERY_MS = 1_000;
/** Of an SFTP server. */
const FETCH_EVERY_MS = 30_000;
const WRITE_TASK = "write-bank-files";
const READ_TASK = "read-bank-files";
/** A file that is not written by then is reported: its directory may be full or gone. */
export const WRITTEN_WITHIN_MS = 10 * MINUTE_MS;

type FileBanks = { bank: PartialBank; openModule(log: TaskLog): Module };

/** Reads the operator's file of banks; an invalid one stops the program with a sentence. */
export function readBanks(path: string): FileBankSettings {
  try {
    const settings = loadBanks(readFileSync(path, "utf8"));
    for (const folder of foldersOf(settings)) accessSync(folder, constants.R_OK | constants.W_OK);
    return settings;
  } catch (error) {
    throw new StartupError(`SLIPROAD_BANKS_FILE: ${(error as Error).message}`);
  }
}

/** Opens banks that take files: the port, and the module that writes and reads files. */
export function openFileBanks(core: OpenDeps, settings: FileBankSettings): FileBanks {
  const deps = { ...core, accounts: settings.accounts };
  const { inbox } = settings;
  const { database, leaving = ALWAYS_LEAVING } = core;
  const write = async (bank_account: string, now: Date) => {
    // Files stay open meanwhile: what is stopped before the release is not in them.
    if (await leaving.findHold()) return;
    // A file that cannot be closed does not delay those that are.
    await closeFiles(deps, bank_account, now).finally(() => writeFiles(deps, bank_account, now));
  };
  const sources = settings.sources.map(({ name }) => name);
  const turns = { sources, pauses: new Map() };
  const read = async (now: Date, log: TaskLog) => {
    if ((await leaving.findHold())?.kind === "restore") {
      for (const name of await rereadDone(database, inbox)) {
        log.info({ file: name }, "a bank's file is read again");
      }
    }
    const real_now = realTime(deps.clock);
    for (const { name, problem } of await readInbox(deps, inbox, now, real_now, turns)) {
      log.warn({ file: name, problem }, "a bank's file was set aside");
    }
  };
  // A task for each bank: one that fails or hangs is retried with growing pauses of its own. Most
  // of their time is waiting, so they take no place of the worker's other tasks.
  const bankTask = (kind: string, every_ms: number, work: (now: Date) => Promise<void>) =>
    recurringTask(database, kind, every_ms, async (set) => {
      set.leavePlace();
      await work(set.now);
    });
  const fetchers = settings.sources.map((source) => {
    const state = newFetchState();
    const kind = `fetch-bank-files-${source.name}`;
    const fetch = (now: Date) => downloadReports(database, source, inbox, state, now);
    return bankTask(kind, FETCH_EVERY_MS, fetch);
  });
  const writers = settings.accounts.map(({ name }) =>
    bankTask(`${WRITE_TASK}-${name}`, RUN_EVERY_MS, (now) => write(name, now)),
  );
  return {
    bank: createFileBank(deps),
    openModule: (log) => ({
      // Several tasks: a directory or server that fails does not keep others from their work.
      tasks: [
        ...fetchers,
        ...writers,
        recurringTask(database, WRITE_TASK, MINUTE_MS, (set) =>
          requireSettings(database, settings, set.now),
        ),
        recurringTask(database, READ_TASK, RUN_EVERY_MS, (set) => read(set.now, log)),
      ],
      recurring: [WRITE_TASK, READ_TASK, ...[...fetchers, ...writers].map(({ kind }) => kind)],
      metrics: [bankMetrics(inbox)],
      readiness: async (session, { now }) => {
        const before = new Date(now.getTime() - WRITTEN_WITHIN_MS);
        const is_held = (await leaving.findHold()) !== null;
        const overdue = is_held ? 0 : await countOverdueFiles(session, before);
        const unproven = await countUnproven(session);
        return [
          ...(unproven === 0 ? [] : [`${unproven} answers of banks were not written by Sliproad.`]),
          ...(overdue === 0 ? [] : [`${overdue} files for banks could not be written.`]),
          ...unreadProblems(inbox),
        ];
      },
    }),
  };
}

/** The files of an account that was removed from the banks file have no task of their own. */
async function requireSettings(
  database: Database,
  { accounts }: FileBankSettings,
  now: Date,
): Promise<void> {
  const known = accounts.map(({ name }) => name);
  const others = await listOtherAccounts(database, known, now);
  if (others.length === 0) return;
  throw new Error(`files for banks wait, but the banks file has no account ${others.join(", ")}`);
}

const FILES_NAMED_MAX = 5;

function unreadProblems(inbox: string): string[] {
  const names = listSetAside(inbox);
  if (names.length === 0) return [];
  const named = names.slice(0, FILES_NAMED_MAX).map(maskNumbers).join(", ");
  return [`${names.length} files of banks could not be read: ${named}.`];
}

/** Anybody may ask whether we are ready, and banks put account numbers into names of files. */
function maskNumbers(name: string): string {
  return name.replace(/[A-Za-z]{0,4}\d[A-Za-z0-9]{8,}/g, (number) => `…${number.slice(-4)}`);
}

function foldersOf({ inbox, accounts }: FileBankSettings): string[] {
  const local = accounts.filter(({ server }) => server === undefined);
  return [inbox, ...local.map(({ outbox }) => outbox)];
}
