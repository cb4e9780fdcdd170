/** What is archived: bodies of events, whole rows of events, deliveries with their attempts. */
export type ArchivedTable = "events" | "event_rows" | "webhook_deliveries";

/** A file of old rows, as the table of archives has it. */
export type Archive = {
  account_id: string;
  table_name: ArchivedTable;
  /** Counts the files of the account and table from 1. */
  number: bigint;
  /** Of the file, within the directory of archives. */
  name: string;
  first_id: string;
  last_id: string;
  row_count: number;
  /** Of the whole file. */
  sha256: Buffer;
  /** The digest of the file before this one; null for the first. */
  previous: Buffer | null;
  created_at: Date;
};

/** What a file says about itself, in its first line. */
export type ArchiveHead = Pick<
  Archive,
  "account_id" | "table_name" | "number" | "first_id" | "last_id" | "row_count" | "previous"
>;

/** What is read for one file, and kept in memory; a single body may be larger. */
export type PageLimits = { rows_max: number; bytes_max: number };
export const PAGE_LIMITS: PageLimits = { rows_max: 5_000, bytes_max: 8 * 1024 * 1024 };

/** A row of a file. Bytes are in base64. */
export type ArchivedRow = { id: string; [column: string]: unknown };

/** An event with its body, encrypted with the key of the person or account that it is about. */
export type ArchivedEvent = {
  id: string;
  name: string;
  record_id: string;
  sequence: number;
  to_status: string;
  subject_id: string | null;
  created_at: string;
  body: string | null;
};

/** A whole event without its body: all that its digest covers, and its MAC. */
export type ArchivedEventRow = {
  id: string;
  name: string;
  record_id: string;
  sequence: number;
  from_status: string | null;
  to_status: string;
  facts: string;
  subject_id: string | null;
  actor: string | null;
  created_at: string;
  mac: string;
};

/** What the sealed audit log says about a file: a row that is deleted is noticed by it. */
export const ARCHIVE_ACTION = "archive.write";

export function archiveDetail({ table_name, row_count, sha256 }: Omit<Archive, "created_at">) {
  return { table: table_name, rows: row_count, sha256: sha256.toString("hex") };
}

export function auditRecordOf({ table_name, number }: Pick<Archive, "table_name" | "number">) {
  return `archive:${table_name}-${number}`;
}

/** Names sort by account, table and number. The digest keeps one file from replacing another. */
export function archiveName(
  { account_id, table_name, number }: ArchiveHead,
  sha256: Buffer,
): string {
  const digits = String(number).padStart(8, "0");
  return `${account_id}/${table_name}-${digits}-${sha256.toString("hex").slice(0, 16)}.archive`;
}
