import { existsSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { Command } from "commander";

const PROGRAM = new URL("../src/cli/program.ts", import.meta.url);
const MAIN = new URL("../src/cli/main.ts", import.meta.url);

type Table = (head: readonly string[], rows: readonly (readonly string[])[]) => string;

/** The page about the commands, from the tree that the program itself is built of. */
export async function commandLinePage(table: Table): Promise<string[]> {
  const program = await buildProgram();
  return [
    "`bin/sliproad` in a clone, `sliproad` where it is installed. Each command reads the " +
      "[settings](settings.md) from the environment, finds the database of the running service by " +
      "itself, and ends with 0, or with 1 and a sentence. `--help` tells the same.",
    ...leavesOf(program).flatMap((command) => describeCommand(command, table)),
  ];
}

/** Where there is no tree to look at, only a main.ts that runs, its parts are put together here. */
async function buildProgram(): Promise<Command> {
  if (existsSync(PROGRAM)) return (await import(PROGRAM.href)).createProgram();
  const text = await readFile(MAIN, "utf8");
  const files = new Map(
    [...text.matchAll(/^import \{ (add\w+) \} from "(\.\/[\w-]+\.ts)";$/gm)].map(
      ([, name, file]) => [name!, file!] as const,
    ),
  );
  const program = new Command("sliproad");
  const called = [...text.matchAll(/^\s*(add\w+)\(program\);$/gm)].map(([, name]) => name!);
  if (called.length === 0 || called.length !== files.size) {
    throw new Error("src/cli/main.ts is no longer made of add…(program) lines; see this file");
  }
  for (const name of called) {
    const part = await import(new URL(files.get(name)!, MAIN).href);
    part[name](program);
  }
  return program;
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
