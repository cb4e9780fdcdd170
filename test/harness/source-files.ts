import { execFileSync } from "node:child_process";
import { existsSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { parseAst } from "vitest/node";

const ROOT = join(import.meta.dirname, "../..");

/** A file of the repository, with what the tidy tests check. */
export type SourceFile = { path: string; text: string; lines: string[] };

/** A node of the syntax tree; its other members depend on its type. */
export type SyntaxNode = {
  type: string;
  start: number;
  end: number;
  // biome-ignore lint/suspicious/noExplicitAny: the tree has as many shapes as the language.
  [member: string]: any;
};

/** All files that are or would be under version control: the content of the next commit. */
export function listFiles(): SourceFile[] {
  const args = ["ls-files", "--cached", "--others", "--exclude-standard", "-z"];
  const paths = execFileSync("git", args, { cwd: ROOT, encoding: "utf8" }).split("\0");
  return paths
    .filter((path) => path !== "" && existsSync(join(ROOT, path)))
    .sort()
    .map((path) => toSourceFile(path, readFileSync(join(ROOT, path))));
}

function toSourceFile(path: string, bytes: Buffer): SourceFile {
  const text = bytes.includes(0) ? "" : bytes.toString();
  return { path, text, lines: text.split("\n") };
}

const parsed = new WeakMap<SourceFile, SyntaxNode>();

export function syntaxOf(file: SourceFile): SyntaxNode {
  const known = parsed.get(file);
  if (known) return known;
  const syntax = parseAst(file.text, {
    lang: file.path.endsWith("x") ? "tsx" : "ts",
  }) as unknown as SyntaxNode;
  parsed.set(file, syntax);
  return syntax;
}

/** Every node, outer ones first. Not a generator: there are millions of nodes. */
export function walk(node: SyntaxNode, found: SyntaxNode[] = []): SyntaxNode[] {
  found.push(node);
  for (const name in node) {
    const member = node[name];
    if (typeof member !== "object" || member === null) continue;
    if (!Array.isArray(member)) {
      if (typeof member.type === "string") walk(member, found);
      continue;
    }
    for (const child of member) if (typeof child?.type === "string") walk(child, found);
  }
  return found;
}

const walked = new WeakMap<SourceFile, readonly SyntaxNode[]>();

export function nodesOf(file: SourceFile): readonly SyntaxNode[] {
  const known = walked.get(file);
  if (known) return known;
  const nodes = walk(syntaxOf(file));
  walked.set(file, nodes);
  return nodes;
}

/** The paths of the repository's files that this one imports, as types or values. */
export function importsOf(file: SourceFile): string[] {
  return nodesOf(file)
    .map((node) => node.source?.value)
    .filter((source): source is string => typeof source === "string" && source.startsWith("."))
    .map((source) => join(dirname(file.path), source));
}

/** The texts of all string and template literals, a template's pieces joined by a space. */
export function textsIn(nodes: readonly SyntaxNode[]): string[] {
  const texts: string[] = [];
  for (const node of nodes) {
    if (node.type === "Literal" && typeof node.value === "string") texts.push(node.value);
    if (node.type !== "TemplateLiteral") continue;
    texts.push(node.quasis.map((piece: SyntaxNode) => piece.value.cooked).join(" "));
  }
  return texts;
}

export function lineOf(file: SourceFile, position: number): number {
  return file.text.slice(0, position).split("\n").length;
}
