export type JsonOption = { json?: boolean };

let is_printed = false;

/** One JSON document on stdout with --json, else lines of text. */
export function print(options: JsonOption, document: unknown, lines: string[]): void {
  if (options.json) printDocument(document);
  else console.log(printable(lines.join("\n")));
}

/** Without what a terminal would take for a command: texts may come from others. */
export function printable(text: string): string {
  return text.replace(/[^\P{Cc}\n\t]/gu, "\ufffd");
}

/** The MAC of a row says nothing to a reader. */
function withoutMac(name: string, value: unknown): unknown {
  return name === "mac" ? undefined : value;
}

/** The control characters that JSON may contain as they are. */
const C1 = /[\x7f-\x9f]/g;

function escaped(sign: string): string {
  return `\\u00${sign.charCodeAt(0).toString(16)}`;
}

/** The one document that --json promises. */
export function printDocument(document: unknown): void {
  is_printed = true;
  console.log(JSON.stringify(document, withoutMac, 2).replace(C1, escaped));
}

/** The error that ended a command; on one line, as it may follow the lines of `listen`. */
export function printError(error: { code: string; message: string }): void {
  if (!is_printed) console.log(JSON.stringify({ error }));
}
