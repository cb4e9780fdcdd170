import { CommanderError } from "commander";
import { DatabaseUnavailableError } from "../platform/db/database.ts";
import { StartupError } from "../platform/startup-error.ts";
import { createProgram } from "./program.ts";

// Whoever reads only the beginning, as head does, needs no story of a broken pipe. Never 0: what
// was not read may have said that something is wrong.
process.stdout.on("error", () => process.exit(1));

try {
  await createProgram().parseAsync();
} catch (error) {
  if (error instanceof CommanderError) process.exit(error.exitCode);
  // A sentence for what a person can mend; the whole story for what only we can.
  console.error(isForPerson(error) ? `sliproad: ${error.message}` : error);
  process.exit(1);
}

function isForPerson(error: unknown): error is Error {
  if (error instanceof DatabaseUnavailableError) {
    error.message = `The database was lost (${error.message}); see whether it still runs.`;
    return true;
  }
  return error instanceof StartupError;
}
