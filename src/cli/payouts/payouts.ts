import type { Command } from "commander";
import { withCore } from "../context.ts";
import { type JsonOption, print } from "../output.ts";
import { holdAll, type PayoutStatus, readStatus, releaseAll } from "./actions.ts";

type ReasonOption = JsonOption & { reason: string };

export function addPayoutCommands(program: Command): void {
  const payouts = program
    .command("payouts")
    .description("stop and resume everything that leaves: payments, returns, refunds, tokens");

  payouts
    .command("status")
    .description("show whether payouts are on hold, since when, and what waits")
    .action(async (options: JsonOption) => {
      const status = await withCore(readStatus);
      print(options, status, describe(status));
    });

  payouts
    .command("hold")
    .description("stop everything that leaves, on all rails and chains, until it is released")
    .requiredOption("--reason <reason>", "the reason, for the audit log")
    .action(async (options: ReasonOption) => {
      const is_new = await withCore((core) => holdAll(core, options.reason));
      const text = is_new
        ? "Payouts are on hold. What a bank or a node already has cannot be stopped."
        : "Payouts were on hold already.";
      print(options, { held: true, is_new }, [text]);
    });

  payouts
    .command("release")
    .description("let money leave again; after a restore, once statements and chains were read")
    .requiredOption("--reason <reason>", "the reason, for the audit log")
    .option("--anyway", "although statements or chains were not read past the restore")
    .action(async (options: ReasonOption & { anyway?: boolean }) => {
      const { reason, anyway = false } = options;
      const { was_held } = await withCore((core) => releaseAll(core, { reason, anyway }));
      const text = was_held ? "Payouts are released." : "Payouts were not on hold.";
      print(options, { held: false, was_held }, [text]);
    });
}

function describe({ holds, unread, waiting }: PayoutStatus): string[] {
  if (holds.length === 0) return ["Payouts are not on hold.", ...describeWaiting(waiting)];
  return [
    ...holds.map(({ kind, held_at, reason }) => {
      const by = kind === "restore" ? "by itself" : "by the operator";
      return `On hold ${by} since ${held_at.toISOString()}: ${reason}`;
    }),
    ...unread.map((sentence) => `Before the release: ${sentence}`),
    ...describeWaiting(waiting),
  ];
}

function describeWaiting(waiting: PayoutStatus["waiting"]): string[] {
  return [
    ...waiting.bank_files.map(
      ({ bank_account, scheme, message_id, payments, sums }) =>
        `Bank file ${message_id} of ${bank_account} by ${scheme}: ${payments} payments, ` +
        sums.map(({ amount, currency }) => `${amount} ${currency}`).join(", "),
    ),
    ...(waiting.sends === 0 ? [] : [`Transfers on chains that are not final: ${waiting.sends}`]),
  ];
}
