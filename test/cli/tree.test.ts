import { existsSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { listCommands, type PlacedCommand } from "../../src/cli/completion.ts";
import { LESSONS } from "../../src/cli/examples.ts";
import { loadCommands } from "../../src/cli/load-commands.ts";
import { createProgram } from "../../src/cli/program.ts";
import { whyRefused } from "../harness/command-tree.ts";

const COMMANDS = await loadCommands();

const ROOT = join(import.meta.dirname, "../..");
const commands = listCommands(createProgram(COMMANDS)).filter(({ path }) => path !== "");
const leaves = commands.filter(({ command }) => command.commands.length === 0);
const pathsOf = (list: PlacedCommand[]) => list.map(({ path }) => path);

describe("every command", () => {
  it("has a description of one line", () => {
    const wrong = commands.filter(({ command }) => !/^[^\n]{10,}$/.test(command.description()));
    expect(pathsOf(wrong)).toEqual([]);
  });

  it("describes its options and arguments", () => {
    const wrong = commands.flatMap(({ path, command }) =>
      [
        ...command.options.map(({ flags, description }) => ({ name: flags, description })),
        ...command.registeredArguments.map((argument) => ({
          name: argument.name(),
          description: argument.description,
        })),
      ]
        .filter(({ description }) => description.trim() === "")
        .map(({ name }) => `${path} ${name}`),
    );
    expect(wrong).toEqual([]);
  });

  it("accepts --json, and so does every group", () => {
    const without = listCommands(createProgram(COMMANDS)).filter(
      ({ command }) => !command.options.some((option) => option.long === "--json"),
    );
    expect(pathsOf(without)).toEqual([]);
  });

  it("offers the values of an option whose description or name lists them", () => {
    const closed = commands.flatMap(({ path, command }) =>
      command.options
        .filter(({ flags, description }) => /<\w+\|\w+>|one of/.test(`${flags} ${description}`))
        .filter(({ argChoices }) => !argChoices)
        .map(({ flags }) => `${path} ${flags}`),
    );
    expect(closed).toEqual([]);
  });

  it("has examples, all of which it accepts", () => {
    expect(Object.keys(LESSONS).toSorted()).toEqual(pathsOf(leaves).toSorted());
    for (const [path, { examples }] of Object.entries(LESSONS)) {
      expect(examples.length, path).toBeGreaterThan(0);
      for (const example of examples) {
        expect(whyRefused(example, path), example).toBeNull();
      }
    }
  });

  it("refers only to documents that exist", () => {
    const named = Object.values(LESSONS).flatMap(({ more = "" }) =>
      [...more.matchAll(/docs\/[\w./-]+\.md/g)].map(([file]) => file),
    );
    expect(named.length).toBeGreaterThan(3);
    expect(named.filter((file) => !existsSync(join(ROOT, file)))).toEqual([]);
  });

  it("refuses an unknown option, and names the nearest match", () => {
    // A missing required option is reported first; cli.test.ts covers those.
    const free = leaves.filter(
      ({ command }) => !command.options.some(({ mandatory }) => mandatory),
    );
    expect(free.length).toBeGreaterThan(15);
    for (const { path, command } of free) {
      const meant = command.options.findLast(({ long }) => long)?.long ?? "--help";
      const mistyped = meant.replace(/(.)(.)$/, "$2$1");
      const refused = whyRefused(`sliproad ${path} ${mistyped}`, path);
      expect(refused, path).toMatchObject({ code: "commander.unknownOption", exit_code: 1 });
      expect(refused!.message).toMatch(/\(Did you mean (one of )?--/);
      expect(refused!.message).toContain(meant);
    }
  });
});

describe("the whole program", () => {
  it("its help lists every command, the exit codes and where settings are described", () => {
    const program = createProgram(COMMANDS);
    let help = "";
    program.configureOutput({ writeOut: (text) => (help += text) });
    program.outputHelp();
    for (const { command } of commands.filter(({ path }) => !path.includes(" "))) {
      expect(help).toMatch(new RegExp(`^ {2}${command.name()}\\b`, "m"));
    }
    expect(help).toMatch(/Exit codes:\n {2}0 {2}done\n {2}1 {2}an error/);
    expect(help).toContain("docs/reference/settings.md");
  });
});
