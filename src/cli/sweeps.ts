import type { Command } from "commander";
import { recordAudit } from "../accounts/audit.ts";
import { findOperator } from "../accounts/store.ts";
import { TOKEN_DIGITS } from "../catalogue/chains.ts";
import type { Sweep } from "../partners/chain/evm/sweep/model.ts";
import {
  keysOf,
  listSteps,
  listSweeps,
  type SweepStep,
  updateGivenUp,
} from "../partners/chain/evm/sweep/sweep-store.ts";
import { minorToText } from "../platform/money.ts";
import { StartupError } from "../platform/startup-error.ts";
import { realTime } from "../platform/tasks/real-time.ts";
import { withCore } from "./context.ts";
import { byOperator } from "./operator.ts";
import { type JsonOption, print } from "./output.ts";

const SWEEPS_SHOWN = 200;
const NATIVE_DIGITS = 18;

/** Adds to `sliproad chains` what concerns sweeps of deposit addresses. */
export function addSweepCommands(chains: Command): void {
  chains
    .command("sweeps")
    .description("list moves of deposits into the treasury, newest first, with their gas costs")
    .action(async (options: JsonOption) => {
      const sweeps = await withCore(async ({ database }) => {
        const found = await listSweeps(database, SWEEPS_SHOWN);
        const steps = await listSteps(database, found);
        return found.map((sweep) => toSweep(sweep, steps));
      });
      const lines = sweeps.map(describeSweep);
      print(options, { sweeps }, lines.length > 0 ? lines : ["None."]);
    });

  chains
    .command("retry-sweep")
    .description("give up a sweep that failed or cannot begin; its deposits are swept again")
    .argument("<number>", "its number in sliproad chains sweeps")
    .requiredOption("--reason <reason>", "the reason, for the audit log")
    .action(async (given: string, options: JsonOption & { reason: string }) => {
      if (!/^\d{1,15}$/.test(given)) throw new StartupError(`${given} is no number of a sweep.`);
      await withCore(async ({ database, clock }) => {
        const { id: account_id } = (await findOperator(database))!;
        const about = {
          action: "chain.retry_sweep",
          record: `sweep:${given}`,
          detail: {},
        } as const;
        const is_retried = await updateGivenUp(database, BigInt(given), realTime(clock), (tx) =>
          recordAudit(tx, { account_id, ...byOperator(options.reason), ...about }, clock.now()),
        );
        if (!is_retried)
          throw new StartupError(`There is no sweep ${given} that failed or has not begun.`);
      });
      print(options, { number: Number(given) }, [
        `The deposits of sweep ${given} are swept again.`,
      ]);
    });
}

type ShownSweep = ReturnType<typeof toSweep>;

function toSweep(sweep: Sweep, found: ReadonlyMap<string, SweepStep>) {
  const { number, chain, address, token, millionths, method, state, created_at, problem } = sweep;
  const steps = keysOf(sweep).flatMap((key) => found.get(key) ?? []);
  const gas_cost = steps.reduce((sum, step) => sum + (step.gas_cost ?? 0n), 0n);
  return {
    ...{ number: Number(number), chain, address, token },
    amount: minorToText(millionths, TOKEN_DIGITS),
    ...{ method, state, created_at, problem },
    gas_cost: minorToText(gas_cost, NATIVE_DIGITS),
    steps: steps.map(({ key, state, tx_id, problem }) => ({
      step: key.split(":").slice(2).join(" "),
      ...{ state, tx_id, problem },
    })),
  };
}

function describeSweep(sweep: ShownSweep): string {
  const { number, chain, address, token, amount, state, gas_cost, problem, steps } = sweep;
  return [
    `${number}  ${chain}  ${amount} ${token} of ${address}  ${state}, gas ${gas_cost}`,
    ...(problem ? [`  ${problem}`] : []),
    ...steps.map((step) =>
      `  ${step.step}: ${step.state} ${step.tx_id ?? ""} ${step.problem ?? ""}`.trimEnd(),
    ),
  ].join("\n");
}
