import { FIELD_NAMES } from "../../catalogue/payment-detail-fields.ts";
import { type Quote, quoteStatus } from "../../offramps/quotes/model.ts";
import type { PaymentDetailFields } from "../../payment-details/model.ts";
import { DAY_MS } from "../../platform/durations.ts";
import type { Problem } from "../../platform/errors.ts";

/**
 * A file of payouts that a member uploaded, until its payouts are created:
 *
 * | Status     | Moves to   | When                                                       |
 * |------------|------------|------------------------------------------------------------|
 * | `draft`    | `creating` | a member creates what they were shown, by its digest       |
 * | `creating` | `created`  | payees, quote and payouts exist; each step can be repeated |
 * | `creating` | `draft`    | a row is changed, while no quote could still be executed   |
 * | `created`  | `draft`    | the same, after the quote expired                          |
 */
type BatchStatus = "draft" | "creating" | "created";

/** What a row can say: the payee's bank account, and the payout. */
export const CELL_NAMES = [
  ...(["amount", ...FIELD_NAMES, "reference", "document_url"] as const),
  "payment_detail_id" as const,
];
export type CellName = (typeof CELL_NAMES)[number];

export type BatchRow = {
  /** The line of the file. */
  n: number;
  cells: Partial<Record<CellName, string>>;
  is_excluded: boolean;
  /** A member knows that it looks like another payout, and wants it nevertheless. */
  is_acknowledged: boolean;
};

/** What is created: fixed when a member decides on it. */
export type Plan = {
  payees: { n: number; fields: PaymentDetailFields; payment_detail_id: string | null }[];
  payouts: PlannedPayout[];
  /** How many of them are created. */
  created: number;
};
type PlannedPayout = {
  n: number;
  /** A bank account that is known, or the place of a new one in the list of payees. */
  payment_detail_id: string | null;
  payee_at: number | null;
  item: Record<string, unknown>;
};

export type BatchContent = {
  file_name: string;
  is_file_acknowledged: boolean;
  rows: BatchRow[];
  plan: Plan | null;
  digest: string | null;
};

export type Batch = {
  account_id: string;
  id: string;
  user_id: string;
  status: BatchStatus;
  deposit_token: Quote["deposit_token"];
  deposit_token_chain: Quote["deposit_token_chain"];
  content: BatchContent;
  file_index: Buffer;
  quote_id: string | null;
  attempt: number;
  version: number;
  created_by: string;
  created_at: Date;
  updated_at: Date;
  expires_at: Date;
};

/** As many as a quote can have. */
export const ROWS_MAX = 5_000;
export const CELL_LENGTH_MAX = 2_048;
/** Of all cells with their names: whatever is done with a batch reads and writes all of it. */
const CELLS_LENGTH_MAX = 4_000_000;
/** Afterwards it is deleted; every change starts the time again. */
export const BATCH_LIFE_MS = 7 * DAY_MS;

export function sizeProblems(rows: readonly BatchRow[]): Problem[] {
  const cells = rows.flatMap((row) => Object.entries(row.cells));
  const length = cells.reduce((sum, [name, text]) => sum + name.length + text.length, 0);
  if (length <= CELLS_LENGTH_MAX) return [];
  const message =
    `The cells have ${length} characters together; at most ${CELLS_LENGTH_MAX} fit into a batch. ` +
    "Split the file.";
  return [{ field: "batch.rows", code: "value_too_long", message }];
}

/** Whether nothing that was created for it can still be executed. */
export function isEditable(batch: Batch, quote: Quote | undefined, now: Date): boolean {
  return batch.quote_id === null || !quote || quoteStatus(quote, now) === "expired";
}

/** As a draft again: what is created next needs a new quote. */
export function asDraft(batch: Batch): Batch {
  if (batch.status === "draft") return batch;
  const content = { ...batch.content, plan: null, digest: null };
  const attempt = batch.attempt + 1;
  return { ...batch, status: "draft", content, quote_id: null, attempt };
}
