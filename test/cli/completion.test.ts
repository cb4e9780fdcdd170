import { execFile } from "node:child_process";
import { promisify } from "node:util";
import { describe, expect, it } from "vitest";
import { writeCompletion } from "../../src/cli/completion.ts";
import { loadCommands } from "../../src/cli/load-commands.ts";
import { createProgram } from "../../src/cli/program.ts";
import { runCommand } from "../harness/command-line.ts";

const COMMANDS = await loadCommands();

const run = promisify(execFile);
const script = writeCompletion(createProgram(COMMANDS), "bash");

/** What bash would offer for the last word, called as bash does: with the words so far. */
async function complete(...words: string[]): Promise<string[]> {
  const typed = ["sliproad", ...words].map((word) => `'${word}'`).join(" ");
  const lines = [
    script,
    `COMP_WORDS=(${typed})`,
    `COMP_CWORD=${words.length}`,
    "_sliproad",
    `printf '%s\\n' "\${COMPREPLY[@]}"`,
  ];
  const { stdout } = await run("bash", ["--norc", "-euc", lines.join("\n")]);
  return stdout.split("\n").filter(Boolean);
}

describe("completion in bash", () => {
  it("the command prints the script, registered for sliproad, which bash can parse", async () => {
    const { code, stdout } = await runCommand(["completion", "bash"], {});
    expect({ code, stdout }).toEqual({ code: 0, stdout: `${script}\n` });
    await run("bash", ["-n", "-c", script]);
    const asked = await run("bash", ["--norc", "-c", `${script}\ncomplete -p sliproad`]);
    expect(asked.stdout).toBe("complete -F _sliproad sliproad\n");
  });

  it("offers commands, then their subcommands", async () => {
    expect(await complete("")).toEqual(expect.arrayContaining(["start", "demo", "keys"]));
    expect(await complete("d")).toEqual(["demo", "documents", "doctor"]);
    expect(await complete("keys", "r")).toEqual(["revoke", "rotate", "rotate-encryption"]);
  });

  it("offers the options and arguments of the named command", async () => {
    expect(await complete("apps", "create", "--web")).toEqual([
      "--webhook-url",
      "--webhook-secret",
    ]);
    expect(await complete("trigger", "o")).toEqual(["offramp_update", "onramp_update"]);
    expect(await complete("completion", "")).toEqual(["bash", "zsh", "--json", "--help"]);
  });

  it("offers the values of an option that has a list of them, and nothing for any other", async () => {
    expect(await complete("accounts", "set", "--kyc-review", "")).toEqual(["account", "operator"]);
    expect(await complete("trigger", "offramp_update", "--status", "ong")).toEqual([
      "ongoing_checks",
    ]);
    expect(await complete("apps", "create", "--events", "onr")).toEqual(["onramp_update"]);
    expect(await complete("accounts", "create", "--name", "")).toEqual([]);
  });

  it("does not mistake an option's value for a command", async () => {
    const words = ["keys", "create", "--name", "list", "--"];
    expect(await complete(...words)).toContain("--account");
    expect(await complete("listen", "--url", "keys", "--f")).toEqual(["--forward-to"]);
  });
});

describe("completion in zsh", () => {
  it("is the same function, loaded through zsh's own bashcompinit", async () => {
    const zsh = writeCompletion(createProgram(COMMANDS), "zsh");
    expect(zsh).toMatch(/^#compdef sliproad\n/);
    expect(zsh).toContain("bashcompinit");
    expect(zsh.split("\n").slice(-10)).toEqual(script.split("\n").slice(-10));
    const installed = await run("sh", ["-c", "command -v zsh || true"]);
    if (installed.stdout.trim() !== "") await run("zsh", ["-n", "-c", zsh]);
  });

  it("another shell is refused with the supported ones", async () => {
    const { code, stderr } = await runCommand(["completion", "fish"], {});
    expect(code).toBe(1);
    expect(stderr).toMatch(/^sliproad: .*'fish'.*bash, zsh; see --help\.\n$/);
  });
});
