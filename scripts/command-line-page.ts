import type { Command } from "commander";
import { loadCommands } from "../src/cli/load-commands.ts";
import { createProgram } from "../src/cli/program.ts";

const COMMANDS = await loadCommands();

type Table = (head: readonly string[], rows: readonly (readonly string[])[]) => string;

/** The page about the commands, generated from the program's own command tree. */
export function commandLinePage(table: Table): string[] {
  const program = createProgram(COMMANDS);
  return [
    "Run `bin/sliproad` in a clone, or `sliproad` if you installed the package. Commands read the " +
      "[settings](settings.md) from environment variables and find the database of the running " +
      "service themselves. The exit code is 0 on success, or 1 with a message. `sliproad <command> " +
      "--help` shows the same information with examples.",
    ...leavesOf(program).flatMap((command) => describeCommand(command, table)),
  ];
}

function leavesOf(command: Command): Command[] {
  return command.commands.length === 0 ? [command] : command.commands.flatMap(leavesOf);
}

function describeCommand(command: Command, table: Table): string[] {
  const args = command.registeredArguments.map((argument) => {
    const shown = `${argument.name()}${argument.variadic ? "..." : ""}`;
    const form = argument.required ? `<${shown}>` : `[${shown}]`;
    return [`\`${form}\``, argument.description, ""];
  });
  const options = command.options.map(({ flags, description, mandatory, defaultValue }) => [
    `\`${flags}\``,
    description,
    mandatory ? "required" : defaultValue === undefined ? "" : `\`${defaultValue}\``,
  ]);
  const rows = [...args, ...options];
  return [
    `## ${nameOf(command)}`,
    sentence(command.description()),
    ...(rows.length > 0 ? [table(["argument or option", "meaning", "default"], rows)] : []),
  ];
}

function nameOf(command: Command): string {
  return command.parent ? `${nameOf(command.parent)} ${command.name()}` : command.name();
}

function sentence(text: string): string {
  return `${text.charAt(0).toUpperCase()}${text.slice(1)}.`;
}
