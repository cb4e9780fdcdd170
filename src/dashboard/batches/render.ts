import { inParts } from "./batch-turns.ts";
import { type CheckedBatch, isReady } from "./check-batch.ts";
import type { JudgedRow } from "./judge-row.ts";
import type { Batch } from "./model.ts";
import type { BatchSummary } from "./store.ts";

/** A batch in the list. */
export function renderSummary(summary: BatchSummary, file_name: string) {
  const { id, user_id, status, row_count, quote_id, created_by, created_at, expires_at } = summary;
  const shown = { id, user_id, status, row_count, quote_id, created_by, file_name };
  return { ...shown, created_at: created_at.toISOString(), expires_at: expires_at.toISOString() };
}

function renderHead(batch: Batch, is_editable: boolean) {
  const { id, user_id, status, deposit_token, deposit_token_chain, quote_id, content } = batch;
  const { plan, file_name, is_file_acknowledged, rows } = content;
  return {
    ...{ id, user_id, status, deposit_token, deposit_token_chain, quote_id, file_name },
    ...{ is_editable, is_file_acknowledged, row_count: rows.length, version: batch.version },
    created_by: batch.created_by,
    created_at: batch.created_at.toISOString(),
    expires_at: batch.expires_at.toISOString(),
    progress: plan && {
      payees: plan.payees.length,
      payees_created: plan.payees.filter((payee) => payee.payment_detail_id !== null).length,
      payouts: plan.payouts.length,
      payouts_created: plan.created,
    },
    digest: content.digest,
  };
}

/** A batch whose rows can be changed: with every problem of them. */
export async function renderDraft(batch: Batch, checked: CheckedBatch): Promise<string> {
  const { digest, notes, sums, token_amount, is_ready } = checked;
  const head = { ...renderHead(batch, true), digest };
  const without_rows = JSON.stringify({ batch: head, notes, sums, token_amount, is_ready });
  const rows = await inParts(checked.rows, renderRow);
  return `${without_rows.slice(0, -1)},"rows":[${rows.join(",")}]}`;
}

function renderRow(judged: JudgedRow): string {
  const { payee, problems, read } = judged;
  const known = payee && "known" in payee ? payee.known : null;
  return JSON.stringify({
    ...read.row,
    payee: payee && (known ? "known" : "new"),
    known_as: known?.fields.account_name ?? null,
    problems,
    is_ready: isReady(judged),
  });
}

/** A batch whose payouts are being created, or are: how far each of them is. */
export function renderStarted(
  { batch, is_editable }: { batch: Batch; is_editable: boolean },
  counts: Record<string, number>,
): string {
  return JSON.stringify({ batch: renderHead(batch, is_editable), counts });
}
