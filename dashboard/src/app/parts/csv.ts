/** A cell of a file: text that a spreadsheet must not run, or a number. */
const RISKY = /^(?:\s*[=+\-@＝＋－＠]|[\t\r\0])/;
const NUMBER = /^-?\d+(?:\.\d+)?$/;
const NEEDS_QUOTES = /[",\r\n;]/;

/** A file that spreadsheets open as it is: with a byte order mark, and lines that end in CRLF. */
export function toCsv(rows: readonly (readonly (string | number | null | undefined)[])[]): string {
  return `\ufeff${rows.map((row) => row.map(cellOf).join(",")).join("\r\n")}\r\n`;
}

function cellOf(value: string | number | null | undefined): string {
  const text = String(value ?? "");
  const safe = RISKY.test(text) && !NUMBER.test(text) ? `'${text}` : text;
  return NEEDS_QUOTES.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe;
}

/** The text of a cell that `toCsv` made safe. */
export function fromCsvCell(text: string): string {
  return text.startsWith("'") && RISKY.test(text.slice(1)) ? text.slice(1) : text;
}
