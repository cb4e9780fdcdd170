import { type CheckedBatch, isReady } from "./check-batch.ts";
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
export function renderDraft(batch: Batch, checked: CheckedBatch): string {
  return JSON.stringify({
    batch: { ...renderHead(batch, true), digest: checked.digest },
    notes: checked.notes,
    sums: checked.sums,
    token_amount: checked.token_amount,
    is_ready: checked.is_ready,
    rows: checked.rows.map((judged) => ({
      ...judged.read.row,
      payee: judged.payee && ("known" in judged.payee ? "known" : "new"),
      known_as:
        judged.payee && "known" in judged.payee ? judged.payee.known.fields.account_name : null,
      problems: judged.problems,
      is_ready: isReady(judged),
    })),
  });
}

/** A batch whose payouts are being created, or are: how far each of them is. */
export function renderStarted(
  { batch, is_editable }: { batch: Batch; is_editable: boolean },
  counts: Record<string, number>,
): string {
  return JSON.stringify({ batch: renderHead(batch, is_editable), counts });
}
