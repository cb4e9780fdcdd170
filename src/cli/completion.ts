import { Argument, type Command, type Option } from "commander";
import { type JsonOption, print } from "./output.ts";

const SHELLS = ["bash", "zsh"] as const;
type Shell = (typeof SHELLS)[number];

export function addCompletionCommand(program: Command): void {
  program
    .command("completion")
    .description("print a script for shell completion")
    .addArgument(new Argument("<shell>", "the shell").choices(SHELLS))
    .action((shell: Shell, options: JsonOption) => {
      const script = writeCompletion(program, shell);
      print(options, { completion: { shell, script } }, [script]);
    });
}

/** A command with its path: `keys create`; empty for the program itself. */
export type PlacedCommand = { path: string; command: Command };

/** The whole tree, each command before its subcommands. */
export function listCommands(command: Command, path = ""): PlacedCommand[] {
  const below = command.commands.flatMap((child) =>
    listCommands(child, path === "" ? child.name() : `${path} ${child.name()}`),
  );
  return [{ path, command }, ...below];
}

/**
 * The command tree as a shell function: everything is known when it is printed, so completion
 * starts no process. zsh runs the same function through its own bashcompinit.
 */
export function writeCompletion(program: Command, shell: Shell): string {
  const name = program.name();
  const commands = listCommands(program);
  const script = [
    `_${name}() {`,
    `  local cur="\${COMP_WORDS[COMP_CWORD]}" prev="\${COMP_WORDS[COMP_CWORD-1]}"`,
    // Not `path` and `words`, which are special in zsh.
    `  local at="" offered="" word="" i=1`,
    "  # An option's value is no command, even if it reads like one.",
    "  while [ $i -lt $COMP_CWORD ]; do",
    `    word="\${COMP_WORDS[$i]}"`,
    `    case "$at|$word" in`,
    ...caseOf(commands.flatMap(valuePatterns), "i=$((i + 1))"),
    ...caseOf(commands.flatMap(stepPatterns), `at="\${at:+$at }$word"`),
    "    esac",
    "    i=$((i + 1))",
    "  done",
    `  case "$at|$prev" in`,
    ...commands.flatMap(choiceCases),
    ...caseOf(commands.flatMap(filePatterns), 'COMPREPLY=($(compgen -f -- "$cur")); return'),
    ...caseOf(commands.flatMap(valuePatterns), "COMPREPLY=(); return"),
    "  esac",
    `  case "$at" in`,
    ...commands.map(({ path, command }) => `    "${path}") offered="${wordsOf(command)}" ;;`),
    "  esac",
    '  COMPREPLY=($(compgen -W "$offered" -- "$cur"))',
    "}",
    `complete -F _${name} ${name}`,
  ];
  const bridge = ["autoload -U +X compinit && compinit", "autoload -U +X bashcompinit"];
  return [
    ...(shell === "zsh" ? [`#compdef ${name}`, ...bridge, "bashcompinit"] : []),
    `# ${name} completion ${shell}: load it with  ${LOAD[shell].replace("NAME", name)}`,
    ...script,
  ].join("\n");
}

const LOAD: Record<Shell, string> = {
  bash: 'eval "$(NAME completion bash)"',
  zsh: 'eval "$(NAME completion zsh)"',
};

function caseOf(patterns: string[], action: string): string[] {
  return patterns.length > 0 ? [`    ${patterns.join("|")}) ${action} ;;`] : [];
}

const takesValue = (option: Option) => option.required || option.optional;
const flagsOf = (option: Option) => [option.long, option.short].filter((flag) => flag != null);
const patternsOf = (path: string, options: readonly Option[]) =>
  options.flatMap(flagsOf).map((flag) => `"${path}|${flag}"`);

function valuePatterns({ path, command }: PlacedCommand): string[] {
  return patternsOf(path, command.options.filter(takesValue));
}

/** Options whose value is a file: `--anchor <file>`. */
function filePatterns({ path, command }: PlacedCommand): string[] {
  return patternsOf(
    path,
    command.options.filter(({ flags }) => /<file>/.test(flags)),
  );
}

function stepPatterns({ path, command }: PlacedCommand): string[] {
  return command.commands.map((child) => `"${path}|${child.name()}"`);
}

function choiceCases({ path, command }: PlacedCommand): string[] {
  return command.options
    .filter((option) => option.argChoices)
    .flatMap((option) =>
      caseOf(
        patternsOf(path, [option]),
        `COMPREPLY=($(compgen -W "${option.argChoices!.join(" ")}" -- "$cur")); return`,
      ),
    );
}

function wordsOf(command: Command): string {
  const help = ["--help"];
  return [
    ...command.commands.map((child) => child.name()),
    ...command.registeredArguments.flatMap((argument) => argument.argChoices ?? []),
    ...command.options.flatMap((option) => option.long ?? []),
    ...help,
  ].join(" ");
}
