import { CommanderError } from "commander";
import { listCommands } from "../../src/cli/completion.ts";
import { loadCommands } from "../../src/cli/load-commands.ts";
import { createProgram } from "../../src/cli/program.ts";

const COMMANDS = await loadCommands();

/**
 * The error with which the program would refuse a line, without running it; null if it is valid.
 */
export function whyRefused(line: string, path?: string) {
  const program = createProgram(COMMANDS);
  for (const { command } of listCommands(program)) {
    command.exitOverride().configureOutput({ writeErr: () => {}, outputError: () => {} });
    if (command.commands.length === 0) command.action(() => {});
  }
  const quoted = line.match(/(?<=\s)"[^"$]*"|'[^']*'|[^\s']+/g)!;
  const words = quoted.map((word) => word.replaceAll(/'|^"|(?<=^".*)"$/g, ""));
  const begin = words.findIndex((word) => /^(\S*\(|bin\/)?sliproad$/.test(word));
  const given = words.slice(begin + 1).map((word) => word.replace(/\)"$/, ""));
  const is_there = path === undefined || given.join(" ").startsWith(path);
  if (!is_there) return { code: "path", exit_code: 1, message: `it is no example of ${path}` };
  try {
    program.parse(given, { from: "user" });
    return null;
  } catch (error) {
    if (!(error instanceof CommanderError)) throw error;
    return { code: error.code, exit_code: error.exitCode, message: error.message };
  }
}
