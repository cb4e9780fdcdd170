import { randomBytes } from "node:crypto";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createAccount } from "../../src/accounts/create-account.ts";
import { createApiKey } from "../../src/accounts/create-api-key.ts";
import { makeApiKey } from "../../src/accounts/model.ts";
import { type Core, openCore } from "../../src/app/open-core.ts";
import { readConfig } from "../../src/platform/config/config.ts";
import { createDatabase, dropDatabase, onEachNode } from "../harness/citus.ts";
import { urlOfDatabase } from "../harness/database-url.ts";
import { createSimulatedClock, type SimulatedClock } from "./clock.ts";
import { type FileBank, openFileBank } from "./file-bank.ts";
import { createOutside, type Outside, type Trouble } from "./partners.ts";
import { openProcess, type Process } from "./process.ts";
import { createRandom } from "./random.ts";
import { createSchedule, type Schedule } from "./schedule.ts";
import { createSnapshot, type Snapshot } from "./snapshot.ts";

/** `files`: payments go through the adapter of real banks. */
export type SimulatedBank = "memory" | "files";

export type Account = { id: string; key: string };

/** Two processes over one database, and everything around them. */
export type Installation = {
  cores: readonly Core[];
  processes: readonly Process[];
  schedule: Schedule;
  clock: SimulatedClock;
  outside: Outside;
  trouble: Trouble;
  /** Null: the bank is in memory, like the other partners. */
  files: FileBank | null;
  /** The first one is the operator's. */
  accounts: readonly Account[];
  snapshot: Snapshot;
  /** What is created once, before the snapshot: see `people.ts`. */
  close(): Promise<void>;
};

export const APPROVAL_ABOVE_USD = 10_000;
/** The processes' own; the world's partners are in memory. */
const CONNECTIONS = "6";

export async function openInstallation(
  server_url: string,
  bank: SimulatedBank,
): Promise<Installation> {
  const files = bank === "files" ? openFileBank() : null;
  const name = `simulation_${process.pid}_${randomBytes(4).toString("hex")}`;
  await createDatabase(server_url, name);
  // A conflict of two transactions is resolved at once, not after a second.
  await onEachNode(server_url, (server) =>
    server.query(`alter database ${name} set deadlock_timeout = '60ms'`),
  );
  const url = urlOfDatabase(server_url, name);
  const data_dir = await mkdtemp(join(tmpdir(), "sliproad-simulation-"));
  const config = readConfig({
    PORT: "0",
    SLIPROAD_DATA_DIR: data_dir,
    SLIPROAD_LOG_LEVEL: process.env.SIMULATION_LOG ?? "silent",
    SLIPROAD_RATE_LIMIT: "0",
    SLIPROAD_RATE_LIMIT_ANONYMOUS: "0",
    SLIPROAD_QUOTES_OPEN_MAX: "0",
    SLIPROAD_BATCH_BY: process.env.SLIPROAD_BATCH_BY ?? "installation",
    SLIPROAD_DOCUMENTS: "threshold",
    SLIPROAD_DATABASE_CONNECTIONS: CONNECTIONS,
    SLIPROAD_APPROVAL_ABOVE_USD: String(APPROVAL_ABOVE_USD),
    SLIPROAD_BANKS_FILE: files?.settings_path,
  });
  const first = await openCore(config, url);
  const second = await openCore(config, url);
  const now = first.clock.now();
  // A bank of files does nothing at weekends.
  const clock = createSimulatedClock((files ? mondayAfter(now) : now).getTime());
  const schedule = createSchedule();
  const outside = createOutside();
  const trouble = { probability: 0, random: createRandom(0) };
  const cores = [first, second].map((core) => ({ ...core, clock }));
  const processes: Process[] = [];
  for (const core of cores) {
    processes.push(await openProcess(core, schedule, outside, trouble));
  }
  const operator = { id: first.first_start.operator.id, key: first.first_start.created!.api_key };
  const accounts = [operator, await addAccount(cores[0]!, "Second")];
  const snapshot = createSnapshot(first.database);
  const close = async () => {
    for (const one of processes) await one.server.close();
    for (const core of cores) await core.database.close();
    await dropDatabase(server_url, name);
    await rm(data_dir, { recursive: true, force: true });
    files?.close();
  };
  return { cores, processes, schedule, clock, outside, trouble, files, accounts, snapshot, close };
}

function mondayAfter(now: Date): Date {
  const monday = new Date(now);
  monday.setUTCDate(now.getUTCDate() + ((8 - now.getUTCDay()) % 7 || 7));
  monday.setUTCHours(8, 0, 0, 0);
  return monday;
}

async function addAccount(core: Core, name: string): Promise<Account> {
  const { database, keyring, index_key, clock } = core;
  const by = { actor: "command line", reason: "simulation" } as const;
  const account = await database.transaction((tx) =>
    createAccount(tx, keyring, { name, is_operator: false, ...by }, clock.now()),
  );
  const key = makeApiKey(index_key, core.config.mode, account.id);
  await database.transaction(async (tx) =>
    createApiKey(tx, index_key, { account_id: account.id, name, key, ...by }, clock.now()),
  );
  return { id: account.id, key };
}
