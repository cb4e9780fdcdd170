import { DAY_MS, MINUTE_MS } from "../../platform/durations.ts";
import { type ErrorCode, type Problem, Refusal } from "../../platform/errors.ts";
import { readTime, TIME_MESSAGE } from "../../platform/http/list.ts";

export const EXPORT_KINDS = ["payouts", "ledger", "deposits", "audit_log", "approvals"] as const;
export const EXPORT_FORMATS = ["csv", "jsonl"] as const;
export const EXPORT_STATUSES = ["pending", "ready", "removed"] as const;
export type ExportKind = (typeof EXPORT_KINDS)[number];
export type ExportFormat = (typeof EXPORT_FORMATS)[number];

/** What is exported: the records of this kind that were created in the period. */
export type ExportTerms = {
  kind: ExportKind;
  format: ExportFormat;
  period_from: Date;
  /** Not included. */
  period_to: Date;
};

export type ExportRecord = ExportTerms & {
  account_id: string;
  id: string;
  requested_by: string;
  status: (typeof EXPORT_STATUSES)[number];
  /** The version of the stored file, while there is one. */
  file: string | null;
  row_count: bigint | null;
  byte_count: bigint | null;
  /** SHA-256 of the file's content. */
  digest: Buffer | null;
  created_at: Date;
  updated_at: Date;
};

export const FILE_KEPT_MS = 7 * DAY_MS;
/** How many files an account can have at a time. */
const FILES_MAX = 20;
const PERIOD_MAX_MS = 366 * DAY_MS;
/**
 * A transaction can commit a while after it took its time. A file is written this long after the
 * end of its period, so that nothing of the period is missing.
 */
const SETTLED_AFTER_MS = MINUTE_MS;

/** Checks a period given as texts; without an end it lasts until now. */
export function checkPeriod(
  { from, to }: { from?: string | undefined; to?: string | null | undefined },
  now: Date,
): { value: Pick<ExportTerms, "period_from" | "period_to"> } | { problems: Problem[] } {
  const period_from = from === undefined ? undefined : readTime(from.trim());
  const period_to = to?.trim() ? readTime(to.trim()) : now;
  const problems: Problem[] = [];
  const add = (field: string, message: string, code: ErrorCode = "record_invalid") =>
    problems.push({ field: `export.${field}`, code, message });
  if (from?.trim() === "") add("from", TIME_MESSAGE, "parameter_missing");
  else if (from !== undefined && !period_from) add("from", TIME_MESSAGE);
  if (!period_to) add("to", TIME_MESSAGE);
  if (period_from && period_to) {
    const length_ms = period_to.getTime() - period_from.getTime();
    if (period_to > now) add("to", "Send a time that is not in the future.");
    else if (length_ms <= 0) add("from", "Send a time before the end of the period.");
    else if (length_ms > PERIOD_MAX_MS) add("from", "Send a period of at most 366 days.");
    else return { value: { period_from, period_to } };
  }
  return { problems };
}

/** When the file can be written. */
export function writtenAfter({ period_to }: ExportTerms, now: Date): Date {
  return new Date(Math.max(now.getTime(), period_to.getTime() + SETTLED_AFTER_MS));
}

/** `oldest` is when the oldest file of the account was requested. */
export function checkFileCount(count: number, oldest: Date | null): Refusal | null {
  if (count < FILES_MAX || !oldest) return null;
  const frees = new Date(oldest.getTime() + FILE_KEPT_MS).toISOString();
  const message =
    `The account has ${FILES_MAX} exports, the maximum. Remove one with DELETE ` +
    `/exports/:export_id, or wait: the oldest is removed at ${frees}.`;
  return Refusal.of([{ field: "export", code: "limit_exceeded", message }]);
}
