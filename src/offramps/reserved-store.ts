import type { Session } from "../platform/db/database.ts";
import { distinctSetOf, type RecordKey } from "../platform/db/rows.ts";
import type { OfframpRow, Totals } from "./store.ts";

/** The totals of the offramps of several quotes. */
export function findTotalsOf(
  session: Session,
  quotes: readonly RecordKey[],
): Promise<(Totals & { id: string })[]> {
  const wanted = distinctSetOf(session, "wanted", "account_id uuid, id uuid", quotes);
  return session.query(
    `select wanted.id, sums.* from ${wanted.from} cross join lateral (
       select coalesce(sum(token_amount), 0)::bigint as token_amount,
         coalesce(sum(token_fee), 0)::bigint as token_fees
       from offramps where account_id = ${wanted.accountIn("wanted")} and quote_id = wanted.id
       offset 0) as sums`,
    wanted.values,
  );
}

const WITHOUT_DETAILS = `account_id, id, user_id, quote_id, payment_detail_id, status,
  status_message, destination_amount, destination_currency, rails, rate, fee, deposit_token,
  token_amount, token_fee, document_status, document_source, document_file, document_hash,
  document_type, document_version, funded_at, attempt, payout_reference, sequence, created_at,
  updated_at, invoice_id, document_id, document_fetch_failures, deposit_token_chain, given_back,
  refund_rate, rate_until, rate_paused_at, document_after_approval`;

/**
 * Those of these quotes that failed: nothing is reserved for them any more. Without their details,
 * which can be large.
 */
export function listFailedOfframps(
  session: Session,
  quotes: readonly RecordKey[],
): Promise<Omit<OfframpRow, "details">[]> {
  const wanted = distinctSetOf(session, "wanted", "account_id uuid, id uuid", quotes);
  return session.query(
    `select failed.* from ${wanted.from} cross join lateral (
       select ${WITHOUT_DETAILS} from offramps
       where account_id = ${wanted.accountIn("wanted")} and quote_id = wanted.id
         and status = 'failed' offset 0) as failed`,
    wanted.values,
  );
}
