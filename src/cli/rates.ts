import type { Command } from "commander";
import { StartupError } from "../platform/startup-error.ts";
import type { RateCheck } from "../prices/rate-checks.ts";
import { listRateChecks } from "../prices/store.ts";
import { withCore } from "./context.ts";
import { byOperator } from "./operator.ts";
import { type JsonOption, print } from "./output.ts";

type ConfirmOptions = JsonOption & { all?: boolean; reason: string };

export function addRateCommands(program: Command): void {
  const rates = program.command("rates").description("manage the rates that quotes use");

  rates
    .command("list")
    .description("list the last accepted rates and the held ones")
    .option("--held", "list only rates that need confirmation")
    .action(async (options: JsonOption & { held?: boolean }) => {
      const checks = await withCore(({ database }) => listRateChecks(database));
      const list = options.held ? checks.filter((check) => check.held_rate !== null) : checks;
      print(options, { rates: list }, list.length > 0 ? list.map(describeCheck) : ["None."]);
    });

  rates
    .command("confirm")
    .description(
      "confirm a rate that is held because it differs from the last one by more than 5 %",
    )
    .argument("[token]", "usdc or usdt")
    .argument("[currency]", "e.g. eur")
    .argument("[rate]", "the held rate, as shown by rates list")
    .option("--all", "confirm every rate that is held now")
    .option("--reason <reason>", "the reason, for the audit log", "confirmed on the command line")
    .action(async (token, currency, rate, options: ConfirmOptions) => {
      const one = token && currency && rate ? { token, currency, rate } : undefined;
      if (options.all ? token : !one) {
        throw new StartupError("Pass token, currency and rate, or --all.");
      }
      const confirmed = await confirm(one, options.reason);
      print(options, { rates: confirmed }, confirmed.map(describeCheck));
    });
}

async function confirm(
  one: { token: string; currency: string; rate: string } | undefined,
  reason: string,
): Promise<RateCheck[]> {
  return withCore(async ({ database, clock }) => {
    const held = (await listRateChecks(database)).filter((check) => check.held_rate !== null);
    const wanted = one ? [one] : held.map((check) => ({ ...check, rate: check.held_rate! }));
    // Imported here, so that other commands start faster.
    const { confirmHeldRate } = await import("../prices/confirm-held-rate.ts");
    const confirmed: RateCheck[] = [];
    for (const key of wanted) {
      const check = await confirmHeldRate(database, key, byOperator(reason), clock.now());
      if (check) confirmed.push(check);
    }
    if (confirmed.length === 0) {
      throw new StartupError("No such rate is held; see sliproad rates list --held.");
    }
    return confirmed;
  });
}

function describeCheck({ token, currency, accepted_rate, held_rate }: RateCheck): string {
  const held = held_rate === null ? "" : `  held: ${held_rate}`;
  return `${token}  ${currency}  ${accepted_rate}${held}`;
}
