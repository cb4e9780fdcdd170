/** The blocks of a Markdown text: the subset that our own documents use. */
export type MarkdownBlock =
  | { kind: "heading"; level: number; text: string }
  | { kind: "code"; language: string; text: string }
  | { kind: "list"; is_ordered: boolean; items: MarkdownBlock[][] }
  | { kind: "table"; head: string[]; rows: string[][] }
  | { kind: "paragraph"; text: string };

const FENCE = /^```(\S*)\s*$/;
const HEADING = /^(#{1,6})\s+(.*?)\s*#*$/;
const ITEM = /^([-*]|\d{1,9}\.)\s+(?=\S)/;
const TABLE_RULE = /^\|?(\s*:?-+:?\s*\|)+\s*(:?-+:?)?\s*$/;
const COMMENT = /^<!--/;

/** Parses blocks; an unknown kind becomes a paragraph, so that no text is lost. */
export function parseBlocks(text: string): MarkdownBlock[] {
  return parseLines(text.replaceAll("\r\n", "\n").split("\n"));
}

function parseLines(lines: readonly string[]): MarkdownBlock[] {
  const blocks: MarkdownBlock[] = [];
  let at = 0;
  while (at < lines.length) {
    if (lines[at]!.trim() === "") {
      at++;
      continue;
    }
    const [block, next] = readBlock(lines, at);
    if (block) blocks.push(block);
    at = next;
  }
  return blocks;
}

/** The block that begins here, and the line after it. */
function readBlock(lines: readonly string[], at: number): [MarkdownBlock | null, number] {
  const line = lines[at]!;
  if (COMMENT.test(line)) return [null, endOfComment(lines, at)];
  const fence = FENCE.exec(line);
  if (fence) return readCode(lines, at, fence[1]!);
  const heading = HEADING.exec(line);
  if (heading) {
    return [{ kind: "heading", level: heading[1]!.length, text: heading[2]! }, at + 1];
  }
  if (ITEM.test(line)) return readList(lines, at);
  if (isTable(lines, at)) return readTable(lines, at);
  return readParagraph(lines, at);
}

function endOfComment(lines: readonly string[], at: number): number {
  let end = at;
  while (end < lines.length && !lines[end]!.includes("-->")) end++;
  return end + 1;
}

function readCode(lines: readonly string[], at: number, language: string): [MarkdownBlock, number] {
  let end = at + 1;
  while (end < lines.length && lines[end]!.trimEnd() !== "```") end++;
  return [{ kind: "code", language, text: lines.slice(at + 1, end).join("\n") }, end + 1];
}

function isTable(lines: readonly string[], at: number): boolean {
  return lines[at]!.startsWith("|") && TABLE_RULE.test(lines[at + 1] ?? "");
}

function readTable(lines: readonly string[], at: number): [MarkdownBlock, number] {
  let end = at + 2;
  while (lines[end]?.startsWith("|")) end++;
  const [head = [], , ...rows] = lines.slice(at, end).map(cellsOf);
  return [{ kind: "table", head, rows }, end];
}

/** A `|` inside a cell is written as `\|`, also within code. */
function cellsOf(line: string): string[] {
  return line
    .trim()
    .replace(/^\||(?<!\\)\|$/g, "")
    .split(/(?<!\\)\|/)
    .map((cell) => cell.trim().replaceAll("\\|", "|"));
}

function readList(lines: readonly string[], at: number): [MarkdownBlock, number] {
  const is_ordered = /^\d/.test(lines[at]!);
  const items: MarkdownBlock[][] = [];
  let next = at;
  while (next < lines.length) {
    const marker = ITEM.exec(lines[next]!)?.[0];
    if (!marker || /^\d/.test(marker) !== is_ordered) break;
    const end = endOfItem(lines, next);
    const first = lines[next]!.slice(marker.length);
    const rest = lines.slice(next + 1, end).map((line) => dedent(line, marker.length));
    items.push(parseLines([first, ...rest]));
    next = end;
    // Blank lines may separate items.
    const after = skipBlank(lines, next);
    if (ITEM.test(lines[after] ?? "")) next = after;
  }
  return [{ kind: "list", is_ordered, items }, next];
}

/** An item continues with indented lines, including blank lines in between. */
function endOfItem(lines: readonly string[], at: number): number {
  let end = at + 1;
  while (end < lines.length) {
    const next = skipBlank(lines, end);
    if (next >= lines.length || !/^\s/.test(lines[next]!)) break;
    end = next + 1;
  }
  return end;
}

function skipBlank(lines: readonly string[], at: number): number {
  let next = at;
  while (next < lines.length && lines[next]!.trim() === "") next++;
  return next;
}

function dedent(line: string, columns: number): string {
  const indent = /^ */.exec(line)![0].length;
  return line.slice(Math.min(indent, columns));
}

function readParagraph(lines: readonly string[], at: number): [MarkdownBlock, number] {
  let end = at + 1;
  while (end < lines.length && !endsParagraph(lines, end)) end++;
  const text = lines.slice(at, end).map((line) => line.trim());
  return [{ kind: "paragraph", text: text.join("\n") }, end];
}

function endsParagraph(lines: readonly string[], at: number): boolean {
  const line = lines[at]!;
  return line.trim() === "" || [FENCE, HEADING, ITEM].some((start) => start.test(line));
}
