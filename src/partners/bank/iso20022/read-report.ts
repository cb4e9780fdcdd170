import type { ReportItem } from "../report.ts";
import { readAccountReport } from "./account-report.ts";
import { readPaymentStatuses } from "./payment-status.ts";
import { type ReadLimits, readDocument } from "./read-document.ts";

/**
 * Reads what a bank reports: `pain.002`, `camt.052`, `camt.053` or `camt.054`, of any version. The
 * items count only if the whole file was read: one that throws `UnreadableFile` on the way counts
 * for nothing.
 */
export function readReport(
  bytes: AsyncIterable<Uint8Array>,
  limits: Partial<ReadLimits> = {},
): AsyncGenerator<ReportItem> {
  return readDocument<ReportItem>(
    bytes,
    (message) => (message === "pain.002" ? readPaymentStatuses() : readAccountReport(message)),
    limits,
  );
}
