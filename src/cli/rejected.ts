import type { Command } from "commander";
import { findOperator } from "../accounts/store.ts";
import type { Core } from "../app/open-core.ts";
import { isId } from "../platform/ids.ts";
import { StartupError } from "../platform/startup-error.ts";
import { listRejected, type RejectedEntry } from "../verify/rejected-store.ts";
import { type Settled, settleRejected } from "../verify/settle-rejected.ts";
import { withCore } from "./context.ts";
import { byOperator } from "./operator.ts";
import { type JsonOption, print } from "./output.ts";

const LISTED_MAX = 1_000;

const OUTCOMES: Readonly<Record<Settled, string>> = {
  deleted: "Deleted: Sliproad did not write it.",
  queued: "Sliproad wrote it: it is sealed now.",
  sealed: "A block of its log has it: it stays.",
  absent: "There was no such entry any more.",
};

export function addRejectedCommands(program: Command): void {
  const rejected = program
    .command("rejected")
    .description("look into entries of the logs that Sliproad did not write and did not seal");
  rejected
    .command("list")
    .description("list the entries that were set aside, the oldest first")
    .action(async (options: JsonOption) => {
      const entries = await withCore(({ database }) => listRejected(database, LISTED_MAX));
      const lines = entries.length > 0 ? entries.map(line) : ["None."];
      print(options, { entries }, lines);
    });
  rejected
    .command("settle")
    .argument("<entry-id>", "the entry, as `rejected list` prints it")
    .description("end the alarm about an entry: delete it, unless Sliproad wrote it")
    .requiredOption("--reason <reason>", "the reason, for the operator's audit log")
    .action(async (entry_id: string, options: JsonOption & { reason: string }) => {
      const outcome = await withCore((core) => settle(core, entry_id, options.reason));
      print(options, { entry_id, outcome }, [OUTCOMES[outcome]]);
    });
}

async function settle(core: Core, entry_id: string, reason: string): Promise<Settled> {
  const { database, clock } = core;
  const { id: operator_id } = (await findOperator(database))!;
  const by = { ...byOperator(reason), operator_id };
  const outcome = isId(entry_id)
    ? await settleRejected(database, entry_id, by, clock.now())
    : undefined;
  if (outcome) return outcome;
  throw new StartupError(`No entry ${entry_id} was set aside; see sliproad rejected list.`);
}

function line({ entry_id, log, account_id, rejected_at }: RejectedEntry): string {
  return `${entry_id}  ${log} of account ${account_id}, set aside ${rejected_at.toISOString()}`;
}
