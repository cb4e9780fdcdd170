import { createWriteStream } from "node:fs";
import { pipeline } from "node:stream/promises";
import type { Command } from "commander";
import { recordAudit } from "../../accounts/audit.ts";
import { findAccount, listAccounts } from "../../accounts/store.ts";
import type { Core } from "../../app/open-core.ts";
import { firstIdAt } from "../../platform/ids.ts";
import { StartupError } from "../../platform/startup-error.ts";
import { checkPeriod } from "../../reports/exports/model.ts";
import { toRecord } from "../../travel/render.ts";
import { listTravelRecords, openTravelRecords } from "../../travel/store.ts";
import { withCore } from "../context.ts";
import { byOperator } from "../operator.ts";
import { type JsonOption, print } from "../output.ts";

type ExportOptions = JsonOption & {
  from: string;
  to: string;
  account?: string;
  output: string;
  reason: string;
};
type Period = { period_from: Date; period_to: Date };

const PAGE_SIZE = 500;

export function addTravelCommands(program: Command): void {
  program
    .command("travel")
    .description("records of who sent tokens to whom")
    .command("export")
    .description("write the travel records of a period to a file, as JSON Lines with IVMS101")
    .requiredOption("--from <time>", "first day or time, e.g. 2026-10-01")
    .requiredOption("--to <time>", "first day or time that is not included, e.g. 2026-11-01")
    .option("--account <name or id>", "the account (default: all)")
    .requiredOption("--output <file>", "the file to write; it must not exist")
    .requiredOption("--reason <reason>", "the reason, for the audit log")
    .action(async (options: ExportOptions) => {
      const count = await withCore((core) => exportRecords(core, options));
      print(options, { travel: { records: count, file: options.output } }, [
        `Wrote ${count} records to ${options.output}.`,
      ]);
    });
}

async function exportRecords(core: Core, options: ExportOptions): Promise<number> {
  const now = core.clock.now();
  const checked = checkPeriod({ from: options.from, to: options.to }, now);
  if ("problems" in checked) {
    const { field, message } = checked.problems[0]!;
    throw new StartupError(`--${field.replace("export.", "")}: ${message}`);
  }
  let count = 0;
  const account_ids = await findAccountIds(core, options.account);
  const lines = async function* () {
    for (const account_id of account_ids) {
      for await (const record of readRecords(core, account_id, checked.value)) {
        count += 1;
        yield `${JSON.stringify(record)}\n`;
      }
    }
  };
  // Before the first name is read: who sees names is recorded even if the file cannot be written.
  await recordExport(core, account_ids, options, now);
  const file = createWriteStream(options.output, { flags: "wx", mode: 0o600 });
  await pipeline(lines, file).catch((error: NodeJS.ErrnoException) => {
    if (error.syscall === undefined) throw error;
    throw new StartupError(`--output ${options.output} cannot be written: ${error.message}`);
  });
  return count;
}

async function findAccountIds({ database }: Core, wanted?: string): Promise<string[]> {
  if (wanted === undefined) return (await listAccounts(database)).map(({ id }) => id);
  const account = await findAccount(database, wanted);
  if (!account) {
    throw new StartupError(`There is no account ${wanted}; see sliproad accounts list.`);
  }
  return [account.id];
}

function recordExport(
  { database }: Core,
  account_ids: readonly string[],
  { from, to, reason }: ExportOptions,
  now: Date,
): Promise<void> {
  return database.transaction(async (tx) => {
    for (const account_id of account_ids) {
      const entry = { account_id, ...byOperator(reason), action: "travel.export" as const };
      recordAudit(tx, { ...entry, record: `account:${account_id}`, detail: { from, to } }, now);
    }
  });
}

/** Newest first; without transfers that failed, and without names of erased users. */
async function* readRecords({ database, keyring }: Core, account_id: string, period: Period) {
  const from_id = firstIdAt(period.period_from);
  let below_id = firstIdAt(period.period_to);
  for (;;) {
    const page = { limit: PAGE_SIZE - 1, below_id, from_id };
    const wanted = { account_id, user_id: undefined, status: undefined };
    const rows = await listTravelRecords(database, wanted, page);
    for (const record of await openTravelRecords(database, keyring, rows)) {
      if (record.transfer_status !== "failed") yield { account_id, ...toRecord(record) };
    }
    if (rows.length < PAGE_SIZE) return;
    below_id = rows.at(-1)!.id;
  }
}
