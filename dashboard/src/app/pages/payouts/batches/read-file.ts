import Papa from "papaparse";
import { fromCsvCell } from "../../../parts/csv.ts";
import { cellOfHeading } from "./columns.ts";

export type PayoutFile = {
  name: string;
  /** SHA-256 of the bytes: the same file again is noticed. */
  hash: string;
  encoding: string;
  headings: string[];
  rows: { n: number; cells: string[] }[];
  /** Lines that are no payouts: above the headings, blank or sums. */
  skipped: number;
};

const BYTES_MAX = 5 * 1024 * 1024;
const ROWS_MAX = 5_000;
/** A request of the API has at most 50 000 values; rows and terms are values, too. */
const CELLS_MAX = 44_000;
const SUM_LINE = /^(?:grand total|subtotal|total|sum|summe|gesamt)\s?:?$/i;

/** Reads a file of a spreadsheet or a bank; throws an error that tells what to do. */
export async function readPayoutFile(file: File): Promise<PayoutFile> {
  if (file.size > BYTES_MAX) throw new FileProblem("The file is larger than 5 MB: split it.");
  const bytes = new Uint8Array(await file.arrayBuffer());
  const { text, encoding } = decode(bytes);
  const hash = toHex(await crypto.subtle.digest("SHA-256", bytes));
  return { name: file.name, hash, encoding, ...parse(text) };
}

export class FileProblem extends Error {}

export function decode(bytes: Uint8Array): { text: string; encoding: string } {
  if (bytes[0] === 0x50 && bytes[1] === 0x4b) {
    throw new FileProblem("This is a spreadsheet: save it as “CSV UTF-8” and choose that file.");
  }
  if (bytes[0] === 0xff && bytes[1] === 0xfe) return decodeAs(bytes, "utf-16le");
  if (bytes[0] === 0xfe && bytes[1] === 0xff) return decodeAs(bytes, "utf-16be");
  try {
    return decodeAs(bytes, "utf-8");
  } catch {
    return decodeAs(bytes, "windows-1252");
  }
}

function decodeAs(bytes: Uint8Array, encoding: string) {
  return { text: new TextDecoder(encoding, { fatal: true }).decode(bytes), encoding };
}

export function parse(text: string): Pick<PayoutFile, "headings" | "rows" | "skipped"> {
  const named = /^sep=(.)\r?\n/.exec(text);
  const content = named ? text.slice(named[0].length) : text;
  // Never typed: 1.10 must not become 1.1.
  const { data } = Papa.parse<string[]>(content, { delimiter: named?.[1] ?? "" });
  const offset = named ? 2 : 1;
  const lines = data.map((cells, at) => ({
    n: at + offset,
    cells: cells.map((cell) => fromCsvCell(cell.trim())),
  }));
  const heading_at = findHeadings(lines.map(({ cells }) => cells));
  const headings = lines[heading_at]?.cells;
  if (!headings) throw new FileProblem("The file is empty.");
  const rows = lines.slice(heading_at + 1).filter(({ cells }) => isPayout(cells));
  if (rows.length === 0) throw new FileProblem("The file has headings, and no rows below them.");
  if (rows.length > ROWS_MAX) {
    throw new FileProblem(`The file has ${rows.length} rows; a batch has at most ${ROWS_MAX}.`);
  }
  const filled = rows.reduce((sum, { cells }) => sum + cells.filter(Boolean).length, 0);
  if (filled > CELLS_MAX) {
    throw new FileProblem(
      `The file has ${filled} filled cells; a batch has at most ${CELLS_MAX}: split it.`,
    );
  }
  const blank = lines.filter(({ cells }) => cells.every((cell) => cell === "")).length;
  return { headings, rows, skipped: lines.length - 1 - rows.length - blank };
}

/** The line with the most known headings: banks and people write titles above it. */
function findHeadings(lines: readonly string[][]): number {
  const counts = lines.slice(0, 30).map((cells) => cells.filter(cellOfHeading).length);
  const best = Math.max(...counts);
  if (best > 0) return counts.indexOf(best);
  return Math.max(
    0,
    lines.findIndex((cells) => cells.filter((cell) => cell !== "").length > 1),
  );
}

function isPayout(cells: readonly string[]): boolean {
  const given = cells.filter((cell) => cell !== "");
  if (given.length === 0) return false;
  return !(given.length <= 3 && SUM_LINE.test(given[0]!));
}

function toHex(buffer: ArrayBuffer): string {
  return [...new Uint8Array(buffer)].map((byte) => byte.toString(16).padStart(2, "0")).join("");
}
