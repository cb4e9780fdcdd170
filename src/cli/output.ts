export type JsonOption = { json?: boolean };

let is_printed = false;

/** One JSON document on stdout with --json, else lines of text. */
export function print(options: JsonOption, document: unknown, lines: string[]): void {
  if (options.json) printDocument(document);
  else console.log(lines.join("\n"));
}

/** The one document that --json promises. */
export function printDocument(document: unknown): void {
  is_printed = true;
  console.log(JSON.stringify(document, null, 2));
}

/** The error that ended a command; on one line, as it may follow the lines of `listen`. */
export function printError(error: { code: string; message: string }): void {
  if (!is_printed) console.log(JSON.stringify({ error }));
}
