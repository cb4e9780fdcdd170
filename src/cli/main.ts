import { CommanderError } from "commander";
import { StartupError } from "../platform/startup-error.ts";
import { createProgram } from "./program.ts";

try {
  await createProgram().parseAsync();
} catch (error) {
  if (error instanceof CommanderError) process.exit(error.exitCode);
  // A sentence for what a person can mend; the whole story for what only we can.
  console.error(error instanceof StartupError ? `sliproad: ${error.message}` : error);
  process.exit(1);
}
