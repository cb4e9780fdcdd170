import type { Command } from "commander";
import { StartupError } from "../../platform/startup-error.ts";
import { withCore } from "../context.ts";
import { type JsonOption, print } from "../output.ts";
import { reconcileBanks } from "./reconcile-banks.ts";
import { reconcileChains } from "./reconcile-chains.ts";

type Options = JsonOption & {
  bank?: string | true;
  chain?: string | true;
  book?: true;
  reason?: string;
};

export function addReconcileCommand(program: Command): void {
  program
    .command("reconcile")
    .description("compare the ledger with statements of banks and with wallets on real chains")
    .option("--bank [name]", "banks only; one account of the banks file, or all of them")
    .option("--chain [name]", "chains only; one chain of the chains file, or all of them")
    .option("--book", "with --chain: book differences as the operator's own transfers")
    .option("--reason <reason>", "with --book: the reason, for the audit log")
    .action(async (options: Options) => {
      const { bank, chain, book, reason } = options;
      if (book && !reason) throw new StartupError("--book needs a --reason.");
      if (book && !chain) throw new StartupError("--book needs --chain; see treasury for banks.");
      const { banks, chains } = await withCore(async (core) => {
        const { banks_file, chains_file } = core.config;
        const is_bank = bank !== undefined || (chain === undefined && banks_file !== undefined);
        const is_chain = chain !== undefined || (bank === undefined && chains_file !== undefined);
        if (!is_bank && !is_chain) {
          throw new StartupError(
            "Neither SLIPROAD_BANKS_FILE nor SLIPROAD_CHAINS_FILE is set: nothing is real.",
          );
        }
        return {
          banks: is_bank ? await reconcileBanks(core, nameOf(bank)) : null,
          chains: is_chain
            ? await reconcileChains(core, { chain: nameOf(chain), book, reason })
            : null,
        };
      });
      const ok = (banks?.is_same ?? true) && (chains?.is_same ?? true);
      const document = {
        ok,
        ...(banks ? { banks: banks.document } : {}),
        ...(chains ? { chains: chains.document } : {}),
      };
      print(options, document, [...(banks?.lines ?? []), ...(chains?.lines ?? [])]);
      if (!ok) process.exitCode = 1;
    });
}

function nameOf(option: string | true | undefined): string | undefined {
  return option === true ? undefined : option;
}
