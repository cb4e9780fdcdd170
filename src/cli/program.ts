import { Command } from "commander";
import manifest from "../../package.json" with { type: "json" };
import { nearest } from "../platform/http/nearest.ts";
import { StartupError } from "../platform/startup-error.ts";
import { listCommands } from "./completion.ts";
import { LESSONS, lessonText, PROGRAM_HELP } from "./examples.ts";
import type { AddCommands } from "./load-commands.ts";

const JSON_OPTION = ["--json", "print one JSON document"] as const;

/**
 * These commands, as a tree that can be inspected without running any. Help and version are passed
 * to `writeOut` if given, else written to stdout.
 */
export function createProgram(
  commands: readonly AddCommands[],
  writeOut?: (text: string) => void,
): Command {
  const program: Command = new Command("sliproad")
    .description(manifest.description)
    .version(manifest.version)
    .option(...JSON_OPTION)
    // The position decides whether an option belongs to a command or to its parent.
    .enablePositionalOptions()
    .exitOverride()
    .configureOutput({
      outputError: (text, write) =>
        write(`sliproad: ${complaintOf(program, process.argv, text)}\n`),
      ...(writeOut ? { writeOut } : {}),
    });
  for (const addCommands of commands) addCommands(program);
  program.addHelpText("after", PROGRAM_HELP);
  for (const { path, command } of listCommands(program)) {
    const lesson = LESSONS[path];
    if (lesson) command.addHelpText("after", lessonText(lesson));
    if (!command.options.some(({ long }) => long === "--json")) command.option(...JSON_OPTION);
  }
  program.hook("preAction", (_program, command) => {
    refuseFlagsAsValues(command);
    if (command.optsWithGlobals().json) command.setOptionValue("json", true);
  });
  return program;
}

/** In `--name --json` the name is missing. */
function refuseFlagsAsValues(command: Command): void {
  const flags = command.options.map(({ long }) => long);
  for (const option of command.options) {
    const value = command.getOptionValue(option.attributeName());
    if (typeof value !== "string" || !flags.includes(value)) continue;
    throw new StartupError(`${option.long} needs a value, but ${value} is an option.`);
  }
}

/** `help nonsuch` would otherwise print the general help without an error. */
export function checkHelpWords(program: Command, words: readonly string[]): void {
  let group = program;
  for (const word of words) {
    if (word === "help" || word.startsWith("-")) continue;
    const found = group.commands.find((child) => child.name() === word);
    if (!found) {
      const names = group.commands.map((child) => child.name());
      const suggested = nearest(word, names);
      const hint = suggested ? `did you mean ${suggested}?` : `there are ${names.join(", ")}.`;
      throw new StartupError(`${group.name()} has no command ${word}; ${hint}`);
    }
    group = found;
  }
}

/** Like every other error: one line, a whole sentence. */
export function complaintOf(program: Command, words: readonly string[], text: string): string {
  if (text === "(outputHelp)") return missingCommand(program, words);
  const [complaint = ""] = /^error: .*$/s.exec(text.trim()) ?? [text.trim()];
  // A missing required option was most likely mistyped; then report that.
  const mistyped = complaint.includes("not specified") && findMistyped(program, words);
  const line = (mistyped || complaint.replace(/^error: /, "")).replaceAll("\n", " ");
  return `${line.replace(/\.$/, "")}; see --help.`;
}

function missingCommand(program: Command, words: readonly string[]): string {
  let group = program;
  for (const word of words) {
    group = group.commands.find((child) => child.name() === word) ?? group;
  }
  const names = group.commands.map((child) => child.name());
  return `add a command of ${group.name()}: ${names.join(", ")}; see --help.`;
}

/** The first option of these words that its command does not have, with the nearest match. */
function findMistyped(program: Command, words: readonly string[]): string | null {
  let command = program;
  for (const word of words) {
    command = command.commands.find((child) => child.name() === word) ?? command;
    const [flag = ""] = word.split("=");
    const known = command.options.flatMap(({ long }) => long ?? []);
    if (!flag.startsWith("--") || flag === "--" || known.includes(flag)) continue;
    const suggested = nearest(flag, known);
    return `unknown option '${flag}'${suggested ? ` (Did you mean ${suggested}?)` : ""}`;
  }
  return null;
}
