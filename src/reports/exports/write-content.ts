import { createHash } from "node:crypto";
import { stringify } from "csv-stringify/sync";
import type { Session } from "../../platform/db/database.ts";
import type { ExportFormat, ExportTerms } from "./model.ts";
import { type ExportRow, exportColumns, readRows } from "./read-rows.ts";

export type ContentSummary = { row_count: bigint; byte_count: bigint; digest: Buffer };

/** The content of an export as it is read; `summary` is complete at its end. */
export function writeContent(
  session: Session,
  account_id: string,
  terms: ExportTerms,
): { content: AsyncGenerator<Buffer>; summary: () => ContentSummary } {
  const hash = createHash("sha256");
  let [row_count, byte_count] = [0n, 0n];
  const columns = exportColumns(terms.kind);
  const format = FORMATS[terms.format];
  async function* parts(): AsyncGenerator<string> {
    yield format.head(columns);
    for await (const rows of readRows(session, account_id, terms)) {
      row_count += BigInt(rows.length);
      yield format.rows(columns, rows);
    }
  }
  async function* content(): AsyncGenerator<Buffer> {
    for await (const part of parts()) {
      const bytes = Buffer.from(part);
      hash.update(bytes);
      byte_count += BigInt(bytes.length);
      yield bytes;
    }
  }
  return {
    content: content(),
    summary: () => ({ row_count, byte_count, digest: hash.copy().digest() }),
  };
}

type Format = {
  head: (columns: readonly string[]) => string;
  rows: (columns: readonly string[], rows: readonly ExportRow[]) => string;
};

const FORMATS: Record<ExportFormat, Format> = {
  // RFC 4180. A text that a spreadsheet would run as a formula gets an apostrophe.
  csv: {
    head: (columns) => `${columns.join(",")}\r\n`,
    rows: (columns, rows) =>
      stringify([...rows], {
        columns: [...columns],
        record_delimiter: "windows",
        escape_formulas: true,
        // The library quotes what contains the delimiter of records, which has two characters.
        quoted_match: /[\r\n]/,
        // Programs differ in whether they skip white space before a formula.
        cast: { string: (text) => (/^\s+[=+\-@]/.test(text) ? `'${text}` : text) },
      }),
  },
  jsonl: {
    head: () => "",
    rows: (columns, rows) => rows.map((row) => `${JSON.stringify(row, [...columns])}\n`).join(""),
  },
};

export const MEDIA_TYPES: Record<ExportFormat, string> = {
  csv: "text/csv",
  jsonl: "application/jsonl",
};
