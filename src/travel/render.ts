import type { Static } from "typebox";
import { TOKEN_DIGITS } from "../catalogue/chains.ts";
import { compileRender } from "../platform/http/render.ts";
import { minorToNumber } from "../platform/money.ts";
import type { TravelRecord } from "./model.ts";
import { TravelListAnswer, type TravelSummary } from "./schemas.ts";
import type { TravelRow } from "./store.ts";

const USD_DIGITS = 2;
const writeList = compileRender(TravelListAnswer);

export function renderTravelRecords(rows: readonly TravelRow[], has_more: boolean): string {
  return writeList({ travel_records: rows.map(toSummary), has_more });
}

export function renderTravelRecord(record: TravelRecord): string {
  return JSON.stringify({ travel_record: toRecord(record) });
}

/** As it is exported. */
export function toRecord(record: TravelRecord) {
  return { ...toSummary(record), ivms101: record.ivms101 };
}

function toSummary(row: Omit<TravelRecord, "ivms101">): Static<typeof TravelSummary> {
  const created_at = row.created_at.toISOString();
  return {
    id: row.id,
    user_id: row.user_id,
    kind: row.kind,
    record_id: row.record_id,
    token: row.token,
    chain: row.chain,
    amount: minorToNumber(row.amount, TOKEN_DIGITS),
    amount_usd: minorToNumber(row.amount_usd, USD_DIGITS),
    status: row.status,
    missing: [...row.missing],
    transfer_status: row.transfer_status,
    tx_id: row.tx_id,
    created_at,
    updated_at: created_at,
  };
}
