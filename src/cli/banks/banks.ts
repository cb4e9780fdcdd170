import type { Command } from "commander";
import { recordAudit } from "../../accounts/audit.ts";
import type { AuditAction } from "../../accounts/audit-actions.ts";
import type { Core } from "../../app/open-core.ts";
import type { FileBankSettings } from "../../partners/bank/file-bank/model.ts";
import { readBanks } from "../../partners/bank/file-bank/open.ts";
import { retryFile } from "../../partners/bank/file-bank/read-inbox.ts";
import {
  type Found,
  movesMoney,
  prepareSettlement,
  readItemId,
} from "../../partners/bank/file-bank/settle-item.ts";
import type { Transaction } from "../../platform/db/database.ts";
import { StartupError } from "../../platform/startup-error.ts";
import { bankItemChange } from "../../reconcile/banks/bank-item-change.ts";
import { withCore } from "../context.ts";
import { byOperator, changeByApproval, changeText, type Proposed } from "../operator.ts";
import { type JsonOption, print } from "../output.ts";
import { describeItems, findItemDetails, listBankItems } from "./list-items.ts";

type ReasonOption = JsonOption & { reason: string };
type SettleOptions = ReasonOption & {
  payment?: string;
  file?: string;
  batch?: string;
  deposit?: true;
};

export function addBankCommands(program: Command): void {
  const banks = program
    .command("banks")
    .description("see what banks report that matches nothing, settle it, read a file again");

  banks
    .command("list")
    .description("list files that could not be read, and lines and rejections that match nothing")
    .action(async (options: JsonOption) => {
      const items = await withCore((core) => listBankItems(core, settingsOf(core)));
      const lines = describeItems(items);
      print(options, items, lines.length > 0 ? lines : ["None."]);
    });

  banks
    .command("show")
    .description("show the names, accounts and texts of a line or correction")
    .argument("<id>", "its id in sliproad banks list, e.g. line-12")
    .requiredOption("--reason <reason>", "the reason, for the audit log")
    .action(async (id: string, options: ReasonOption) => {
      const details = await withCore(async (core) => {
        const found = await findItemDetails(core, id);
        if (!found) throw new StartupError(`There is no open line or correction ${id}.`);
        await core.database.transaction(async (tx) => {
          audit(core, tx, "bank_item.read", `bank_item:${id}`, options.reason);
        });
        return found;
      });
      print(options, { id, details }, [JSON.stringify(details, null, 2)]);
    });

  banks
    .command("settle")
    .description("take a line, rejection or correction off the list, once it is dealt with")
    .argument("<id>", "its id in sliproad banks list, e.g. line-12")
    .requiredOption("--reason <reason>", "the reason, for the audit log")
    .option("--payment <id>", "the end-to-end id of the payment that it is about")
    .option("--file <message_id>", "the file that was booked with this line")
    .option("--batch <number>", "the batch of that file, if only one was booked")
    .option("--deposit", "the line is money from outside: list it among unmatched deposits")
    .action(async (id: string, options: SettleOptions) => {
      const { payments, proposal } = await withCore((core) => settle(core, id, options));
      const told = payments === 0 ? "" : ` It answers ${payments} payments.`;
      const text = changeText(proposal, `${id} is settled.${told}`);
      print(options, { id, payments, proposal }, [text]);
    });

  banks
    .command("retry")
    .description("read a file again that was set aside, after you repaired it")
    .argument("<name>", "its name in sliproad banks list")
    .requiredOption("--reason <reason>", "the reason, for the audit log")
    .action(async (name: string, options: ReasonOption) => {
      await withCore((core) => retry(core, name, options.reason));
      print(options, { name }, [`${name} is read.`]);
    });
}

function settingsOf({ config }: Core): FileBankSettings {
  if (config.banks_file === undefined) {
    throw new StartupError("SLIPROAD_BANKS_FILE is not set: there are no real banks.");
  }
  return readBanks(config.banks_file);
}

/** What moves money in the books needs two members, as soon as there are two. */
async function settle(
  core: Core,
  id: string,
  { reason, ...options }: SettleOptions,
): Promise<{ payments: number; proposal: Proposed }> {
  const item = readItemId(id);
  if (!item) throw new StartupError(`${id} is not an id of sliproad banks list, such as line-12.`);
  const found = readFound(options);
  const { database, clock } = core;
  const change = bankItemChange(core.index_key);
  const account_id = core.first_start.operator.id;
  const settlement = await prepareSettlement(database, item, found);
  if (typeof settlement === "string") throw new StartupError(settlement);
  const payments = settlement.answers.length;
  const input = { id, found };
  if (movesMoney(item, found)) {
    const asked = { account_id, input, is_operators: true, reason };
    return { payments, proposal: await changeByApproval(core, change, asked) };
  }
  await database.transaction((tx) =>
    change.apply(tx, account_id, input, byOperator(reason), clock.now()),
  );
  return { payments, proposal: null };
}

function readFound({ payment, file, batch, deposit }: Omit<SettleOptions, "reason">): Found {
  if ([payment, file, deposit].filter((one) => one !== undefined).length > 1) {
    throw new StartupError("Name a payment or a file, or use --deposit: one of them.");
  }
  if (batch !== undefined && (file === undefined || !/^\d{1,6}$/.test(batch))) {
    throw new StartupError("A batch is a number, and needs --file.");
  }
  if (deposit) return "deposit";
  if (payment !== undefined) return { payment };
  return file === undefined ? null : { file, batch: batch === undefined ? null : Number(batch) };
}

async function retry(core: Core, name: string, reason: string): Promise<void> {
  const { accounts, inbox } = settingsOf(core);
  const operator_id = core.first_start.operator.id;
  const deps = { ...core, accounts, operator_id };
  const problem = await retryFile(deps, inbox, name, core.clock.now());
  if (problem === undefined) throw new StartupError(`No file ${name} was set aside.`);
  await core.database.transaction(async (tx) => {
    const detail = { is_read: problem === null };
    audit(core, tx, "bank_file.retry", `bank_file:${name}`, reason, detail);
  });
  if (problem !== null) throw new StartupError(`${name} still cannot be read: ${problem}`);
}

function audit(
  { first_start, clock }: Core,
  tx: Transaction,
  action: AuditAction,
  record: string,
  reason: string,
  detail: Record<string, string | boolean | null> = {},
): void {
  const account_id = first_start.operator.id;
  recordAudit(tx, { account_id, ...byOperator(reason), action, record, detail }, clock.now());
}
