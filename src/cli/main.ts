import { CommanderError } from "commander";
import { DatabaseUnavailableError } from "../platform/db/outages.ts";
import { UnvouchedRowError } from "../platform/sealing/vouched-rows.ts";
import { StartupError } from "../platform/startup-error.ts";
import { ApiError } from "./api-client.ts";
import { interrupt } from "./interruption.ts";
import { loadCommands } from "./load-commands.ts";
import { printable, printDocument, printError } from "./output.ts";
import { checkHelpWords, complaintOf, createProgram } from "./program.ts";

// A reader that stops early, like head, needs no message about a broken pipe. The exit code is
// never 0: the unread part may have reported a problem.
process.stdout.on("error", () => interrupt(1));

const wants_json = process.argv.includes("--json");
// `help`, also of a group, would take --json for the name of a command.
const asks_help = process.argv.slice(2, 4).includes("help");
const argv = process.argv.filter((word) => word !== "--json" || !asks_help);
let help = "";
const commands = await loadCommands(argv[2]);
const program = createProgram(commands, wants_json ? (text) => (help += text) : undefined);

try {
  if (asks_help) checkHelpWords(program, argv.slice(2));
  await program.parseAsync(argv);
} catch (error) {
  if (error instanceof CommanderError) endByCommander(error);
  // A sentence for what the user can fix; the whole error for a defect of ours.
  console.error(isForPerson(error) ? `sliproad: ${printable(error.message)}` : error);
  if (wants_json) printError({ code: codeOf(error), message: (error as Error).message });
  process.exit(1);
}

/** Commander has printed the error; help and version are not errors. */
function endByCommander({ code, exitCode, message }: CommanderError): never {
  if (wants_json && exitCode !== 0) {
    printError({ code: "usage", message: complaintOf(program, argv, message) });
  } else if (wants_json) {
    printDocument(code === "commander.version" ? { version: help.trim() } : { help });
  }
  process.exit(exitCode);
}

function isForPerson(error: unknown): error is Error {
  if (error instanceof DatabaseUnavailableError) {
    error.message =
      `The connection to the database was lost (${error.message}); check that the ` +
      `database is running.`;
    return true;
  }
  if (error instanceof UnvouchedRowError) {
    error.message +=
      ": somebody else changed the database, or a version before row MACs wrote it; " +
      "run sliproad verify, and see “Somebody wrote to the database” in the runbook.";
    return true;
  }
  return error instanceof StartupError;
}

function codeOf(error: unknown): string {
  if (error instanceof ApiError) return error.code;
  if (error instanceof DatabaseUnavailableError) return "database_unavailable";
  if (error instanceof UnvouchedRowError) return "unvouched_row";
  return error instanceof StartupError ? "refused" : "internal_error";
}
