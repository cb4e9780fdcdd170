import { execFile, spawnSync } from "node:child_process";
import { once } from "node:events";
import { writeFile } from "node:fs/promises";
import { createServer } from "node:net";
import { join } from "node:path";
import { promisify } from "node:util";
import { lexer, type Token, type Tokens } from "marked";
import { expect } from "vitest";
import { openShell, type Reader, type Shell } from "./documentation.ts";
import { waitFor } from "./wait-for.ts";

export const GUIDES = new URL("../../docs/guides/", import.meta.url);
/** These start their own services, and so have a separate test file. */
export const OPERATORS_GUIDES = [
  "adding-a-currency-or-rail.md",
  "going-live.md",
  "operating.md",
  "screening.md",
];
/** A guide has many commands, and each of them starts a program. */
export const FOLLOWED_WITHIN_MS = 180_000;

/** A fenced block; with a name it is a file that the reader is asked to save. */
export type GuideBlock = { language: string; code: string; name: string | null };

const COMPILER = join(import.meta.dirname, "../../node_modules/typescript/bin/tsc");
/** Ports that the guides use besides the service's own. */
const PORTS = /\b(3000|4100|4200)\b/g;
const REFUSED = /error_code|not found|Error:|^sliproad: /m;

/** All blocks of a text, including those in lists. */
export function listBlocks(markdown: string): GuideBlock[] {
  return blocksIn(lexer(markdown));
}

function blocksIn(all: readonly Token[]): GuideBlock[] {
  const blocks = all.filter(({ type }) => type !== "space");
  return blocks.flatMap((block, at) => {
    if (block.type === "list") {
      return (block as Tokens.List).items.flatMap((item) => blocksIn(item.tokens));
    }
    if (block.type !== "code") return [];
    const before = blocks[at - 1];
    const text = before?.type === "paragraph" || before?.type === "text" ? before.raw.trim() : "";
    const name = /`([\w.-]+\.(?:mjs|ts|json))`[^`]*:$/.exec(text)?.[1] ?? null;
    const { lang = "", text: code } = block as Tokens.Code;
    return [{ language: lang, code, name }];
  });
}

/** Executes a guide in order, in a separate shell; fails if a result differs from the text. */
export async function followGuide(reader: Reader, markdown: string): Promise<void> {
  const adapt = await findPlaces(reader);
  const blocks = listBlocks(markdown).map((block) => ({ ...block, code: adapt(block.code) }));
  checkThatAllAreUsed(blocks);
  const shell = await openShell(reader.directory);
  try {
    let printed = "";
    for (const [at, block] of blocks.entries()) {
      if (block.language === "sh") printed = await runStep(shell, block, blocks[at + 1]);
      else if (block.name) await saveFile(reader, block.name, block.code);
      else await checkAnswer(shell, blocks[at - 1], printed, block);
    }
  } finally {
    shell.close();
  }
}

/** Every kind of block is checked: any other kind would go untested. */
function checkThatAllAreUsed(blocks: readonly GuideBlock[]): void {
  for (const [at, { language, name, code }] of blocks.entries()) {
    if (language === "sh") continue;
    const about = `${language || "a block without a language"}: ${code.slice(0, 60)}`;
    if (!["js", "ts", "json", "text"].includes(language)) {
      throw new Error(`No check is known for ${about}`);
    }
    if (name) {
      const later = blocks.slice(at + 1).filter((block) => block.language === "sh");
      if (!later.some((block) => block.code.includes(name))) {
        throw new Error(`Nothing uses ${name} after it was saved`);
      }
    } else if (!["json", "text"].includes(language)) {
      throw new Error(`The text before it must name the file of ${about}`);
    } else if (blocks[at - 1]?.language !== "sh") {
      throw new Error(`It is the answer to no command: ${about}`);
    }
  }
}

async function runStep(shell: Shell, step: GuideBlock, next: GuideBlock | undefined) {
  const parts: string[] = [];
  for (const command of splitCommands(step.code)) {
    const answer = await shell.run(command);
    expect(shell.status(), `${command}\n${answer}`).toBe(0);
    await checkVariables(shell, command);
    if (answer !== "") parts.push(answer);
  }
  const printed = parts.join("\n");
  // A refusal is correct only if the guide shows it.
  if (!next || next.name || !/error_code/.test(next.code)) {
    expect(printed, step.code).not.toMatch(REFUSED);
  }
  return printed;
}

/** Every command of a block counts, not only its last; one may have several lines. */
export function splitCommands(code: string): string[] {
  const commands: string[] = [];
  let lines: string[] = [];
  for (const line of code.split("\n")) {
    lines.push(line);
    const text = lines.join("\n");
    const is_whole = !line.endsWith("\\") && spawnSync("sh", ["-nc", text]).status === 0;
    if (!is_whole) continue;
    if (text.trim() !== "") commands.push(text);
    lines = [];
  }
  return lines.length > 0 ? [...commands, lines.join("\n")] : commands;
}

/** A pipe that sets an empty variable still succeeds, so variables are checked. */
async function checkVariables(shell: Shell, command: string): Promise<void> {
  const [, name] = /^([A-Z_]+)=\$\(.*\)$/s.exec(command) ?? [];
  if (name === undefined) return;
  const value = await shell.run(`printf %s "$${name}"`);
  expect(value, `${command}\nleaves ${name} empty`).not.toBe("");
}

async function checkAnswer(
  shell: Shell,
  step: GuideBlock | undefined,
  printed: string,
  shown: GuideBlock,
): Promise<void> {
  const matches = (text: string) =>
    shown.language === "json" ? isLike(text, shown.code) : isText(text, shown.code);
  if (matches(printed)) return;
  // GET calls and scripts are repeated until they print the result, as a reader would.
  const is_look = /^(call GET [^\n]*|node [\w.-]+)$/.test(step!.code.trim());
  let last = printed;
  const found = is_look
    ? await waitFor(async () => {
        last = await shell.run(step!.code);
        return matches(last);
      }).catch(() => false)
    : false;
  if (!found) expect.fail(`${step!.code}\nanswers\n${last}\nand not\n${shown.code}`);
}

/** Every field shown has the value shown; `"…"` means any text. */
function isLike(printed: string, shown: string): boolean {
  const expected = JSON.parse(shown, (_, value) => (value === "…" ? expect.any(String) : value));
  try {
    expect(JSON.parse(printed)).toMatchObject(expected);
    return true;
  } catch {
    return false;
  }
}

/** `…` means anything, including several lines. */
function isText(printed: string, shown: string): boolean {
  const parts = shown.trim().split("…");
  const pattern = parts.map((part) => part.replace(/[.*+?^${}()|[\]\\]/g, "\\$&"));
  return new RegExp(`^${pattern.join(".*")}$`, "s").test(printed);
}

async function saveFile(reader: Reader, name: string, code: string): Promise<void> {
  if (name.endsWith(".json")) JSON.parse(code);
  await writeFile(join(reader.directory, name), `${code}\n`);
  if (name.endsWith(".ts")) await checkTypes(reader, name);
}

async function checkTypes({ directory }: Reader, name: string): Promise<void> {
  const compilerOptions = {
    strict: true,
    noUncheckedIndexedAccess: true,
    module: "nodenext",
    target: "es2024",
    noEmit: true,
    types: ["node"],
    skipLibCheck: true,
    allowImportingTsExtensions: true,
  };
  const config = JSON.stringify({ compilerOptions, files: [name] });
  await writeFile(join(directory, "tsconfig.json"), config);
  await promisify(execFile)(process.execPath, [COMPILER], { cwd: directory }).catch((error) => {
    throw new Error(`${name}: ${error.stdout}`);
  });
}

/** Replaces the URLs and ports of the guides with this reader's. */
async function findPlaces(reader: Reader): Promise<(code: string) => string> {
  const ports = new Map<string, string>();
  for (const port of ["3000", "4100", "4200"]) ports.set(port, String(await findPort()));
  return (code) =>
    code
      .replaceAll(PORTS, (port) => ports.get(port)!)
      .replaceAll("http://127.0.0.1:4000", reader.url);
}

async function findPort(): Promise<number> {
  const socket = createServer().listen(0, "127.0.0.1");
  await once(socket, "listening");
  const { port } = socket.address() as { port: number };
  socket.close();
  await once(socket, "close");
  return port;
}
