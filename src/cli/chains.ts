import type { Command } from "commander";
import { TOKEN_DIGITS } from "../catalogue/chains.ts";
import { type FoundTransfer, listFindings } from "../partners/chain/evm/finding-store.ts";
import { listWatchedChains, type WatchedChain } from "../partners/chain/evm/watch-store.ts";
import { minorToText } from "../platform/money.ts";
import { StartupError } from "../platform/startup-error.ts";
import { realTime } from "../platform/tasks/real-time.ts";
import { withCore } from "./context.ts";
import { type JsonOption, print } from "./output.ts";
import { addSweepCommands } from "./sweeps.ts";

type ResumeOptions = JsonOption & { fromBlock?: string; reason: string };

const FINDINGS_SHOWN = 1_000;

export function addChainCommands(program: Command): void {
  const chains = program
    .command("chains")
    .description("see how far the real chains are read and what was not credited, and resume one");

  chains
    .command("list")
    .description("list the real chains: the last block read, how old it is, what is wrong")
    .action(async (options: JsonOption) => {
      const rows = await withCore(async ({ database, clock }) => {
        const now = realTime(clock);
        return (await listWatchedChains(database)).map((row) => toLine(row, now));
      });
      const lines = rows.map(
        ({ chain, state, scanned_block, final_block, lag_seconds, problem }) =>
          `${chain}  ${state}  block ${scanned_block} of ${final_block}, ${lag_seconds} s old` +
          (problem ? `\n  ${problem}` : ""),
      );
      print(options, { chains: rows }, lines.length > 0 ? lines : ["None."]);
    });

  chains
    .command("findings")
    .description("list transfers to deposit addresses that were not credited, newest first")
    .action(async (options: JsonOption) => {
      const found = await withCore(({ database }) => listFindings(database, FINDINGS_SHOWN));
      const rows = found.map(({ number: _, ...row }) => ({
        ...row,
        block_number: String(row.block_number),
        amount: minorToText(BigInt(row.amount), TOKEN_DIGITS),
      }));
      const lines = found.map(describeFinding);
      print(options, { findings: rows }, lines.length > 0 ? lines : ["None."]);
    });

  chains
    .command("resume")
    .description("read a reorganised chain again, from a block that was not replaced")
    .argument("<chain>", "its name in the chains file, e.g. polygon")
    .option("--from-block <number>", "the first block to read again; default: of the last hours")
    .requiredOption("--reason <reason>", "the reason, for the audit log")
    .action(async (name: string, options: ResumeOptions) => {
      const from_block = readBlockNumber(options.fromBlock);
      const { resumeOnCommandLine } = await import("./resume-chain.ts");
      const { after_block, vanished } = await withCore((core) =>
        resumeOnCommandLine(core, name, from_block, options.reason),
      );
      const found = vanished.map((one) => describeFinding({ ...one, finding: "vanished" }));
      const ids = vanished.map(({ tx_id, log_index }) => ({ tx_id, log_index }));
      print(options, { chain: name, after_block, vanished: ids }, [
        `${name} is read again from block ${after_block + 1}.`,
        ...(found.length > 0
          ? [
              "These transfers are not on the chain any more. They may have been credited:",
              ...found,
            ]
          : ["Every transfer that was read from later blocks is still on the chain."]),
      ]);
    });
  addSweepCommands(chains);
}

/** Null where it was not given. */
function readBlockNumber(text: string | undefined): number | null {
  if (text === undefined) return null;
  if (/^\d{1,15}$/.test(text)) return Number(text);
  throw new StartupError("--from-block must be the number of a block.");
}

function toLine(row: WatchedChain, now: Date) {
  const { chain, state, state_since, problem, scanned_at } = row;
  return {
    ...{ chain, chain_id: String(row.chain_id), state, state_since, problem },
    scanned_block: String(row.scanned_block),
    final_block: String(row.final_block),
    lag_seconds: Math.max(0, Math.round((now.getTime() - scanned_at.getTime()) / 1000)),
  };
}

const REASONS: Readonly<Record<FoundTransfer["finding"], string>> = {
  other_token: "a token that is not credited",
  other_chain: "the address was issued for another chain",
  balance_mismatch: "the balance of the address did not grow by it",
  reorganised: "the same transaction was read from another block before",
  unproven: "no node has it as it is stored, or its address is of no key of the chains file",
  vanished: "its block was replaced, and the chain does not have it any more",
};

function describeFinding(found: FoundTransfer): string {
  const { chain, token, amount, address, tx_id, finding } = found;
  const tokens = `${minorToText(BigInt(amount), TOKEN_DIGITS)} ${token}`;
  return `${chain}  ${tokens} to ${address}  ${finding}: ${REASONS[finding]}\n  ${tx_id}`;
}
