import type { Command } from "commander";
import {
  EXCEPTION_STATUSES,
  type ExceptionStatus,
  RESOLUTIONS,
  type Resolution,
} from "../../offramps/exceptions/model.ts";
import { isId } from "../../platform/ids.ts";
import { StartupError } from "../../platform/startup-error.ts";
import { withCore } from "../context.ts";
import { type JsonOption, print } from "../output.ts";

type ListOptions = JsonOption & { status: string; limit: string };
type ResolveOptions = JsonOption & { as: string; offramp?: string; reason: string };

/** Imported on demand, so that other commands start faster. */
const actions = () => import("./actions.ts");

export function addExceptionCommands(program: Command): void {
  const exceptions = program
    .command("exceptions")
    .description("resolve answers of the bank that contradict a payout or name none");

  exceptions
    .command("list")
    .description("list bank exceptions of all accounts, newest first")
    .option("--status <status>", EXCEPTION_STATUSES.join(", "), "open")
    .option("--limit <number>", "how many, at most 100", "25")
    .action(async (options: ListOptions) => {
      const status = oneOf<ExceptionStatus>("--status", EXCEPTION_STATUSES, options.status);
      const limit = Number(options.limit);
      if (!Number.isInteger(limit) || limit < 1 || limit > 100) {
        throw new StartupError("--limit must be a number from 1 to 100.");
      }
      const { listExceptions, describeException } = await actions();
      const listed = await withCore((core) => listExceptions(core, status, limit));
      const lines = listed.bank_exceptions.map(describeException);
      print(options, listed, lines.length > 0 ? lines : ["None."]);
    });

  exceptions
    .command("resolve")
    .description("decide what a bank exception means; see docs/guides/operating.md")
    .argument("<exception_id>", "the exception's id")
    .requiredOption("--as <resolution>", RESOLUTIONS.join(", "))
    .option("--offramp <id>", "with assign: the payout (default: the one that the bank names)")
    .requiredOption("--reason <reason>", "the reason, for the audit log (no personal data)")
    .action(async (exception_id: string, options: ResolveOptions) => {
      const resolution = oneOf<Resolution>("--as", RESOLUTIONS, options.as);
      const { offramp = null, reason } = options;
      if (reason.trim() === "") throw new StartupError("--reason must not be empty.");
      if (!isId(exception_id)) throw new StartupError(`There is no exception ${exception_id}.`);
      if (offramp !== null && !isId(offramp)) {
        throw new StartupError("--offramp must be the id of an offramp.");
      }
      const { resolveOnCommandLine, describeOutcome } = await actions();
      const asked = { exception_id, resolution, offramp_id: offramp, reason };
      const outcome = await withCore((core) => resolveOnCommandLine(core, asked));
      print(options, outcome, [describeOutcome(outcome)]);
    });
}

function oneOf<Value extends string>(
  option: string,
  values: readonly Value[],
  given: string,
): Value {
  const found = values.find((value) => value === given);
  if (found) return found;
  throw new StartupError(`${option} must be one of ${values.join(", ")}.`);
}
