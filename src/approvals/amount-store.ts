import type { Session, Transaction } from "../platform/db/database.ts";
import { accountsOf, deleteRow, insertRows } from "../platform/db/rows.ts";
import { vouchedTable } from "../platform/sealing/vouched-rows.ts";

type UnapprovedAmount = {
  account_id: string;
  record_id: string;
  amount_usd: bigint;
  created_at: Date;
};

/** Checked by `verify` only: the sum of a day has too many rows to check each. */
export const UNAPPROVED_AMOUNTS = vouchedTable(
  "unapproved_amounts",
  ["account_id", "record_id"],
  ["amount_usd", "created_at"],
);

/** What moved without approval in each account since then, in cents. */
export async function findUnapprovedSums(
  session: Session,
  account_ids: readonly string[],
  since: Date,
): Promise<Map<string, bigint>> {
  const accounts = accountsOf(session, account_ids);
  const rows = await session.query<{ account_id: string; sum: bigint }>(
    `select account_id, sum(amount_usd)::bigint as sum from unapproved_amounts
     where account_id ${accounts.equal} and created_at > $2 group by account_id`,
    [accounts.value, since],
  );
  return new Map(rows.map((row) => [row.account_id, row.sum]));
}

/** Filters records to those that were counted before, at any time. */
export async function findCounted(
  session: Session,
  account_ids: readonly string[],
  record_ids: readonly string[],
): Promise<Set<string>> {
  const accounts = accountsOf(session, account_ids);
  const rows = await session.query<{ record_id: string }>(
    `select record_id from unapproved_amounts
     where account_id ${accounts.equal} and record_id = any($2::uuid[])`,
    [accounts.value, record_ids],
  );
  return new Set(rows.map((row) => row.record_id));
}

export function insertUnapproved(tx: Transaction, amounts: readonly UnapprovedAmount[]): void {
  const columns = `account_id uuid, record_id uuid, amount_usd bigint, created_at timestamptz,
    mac bytea`;
  insertRows(tx, "unapproved_amounts", columns, UNAPPROVED_AMOUNTS.withMacs(tx, amounts));
}

/** A record that moved nothing after all no longer counts. */
export function deleteUnapproved(tx: Transaction, account_id: string, record_id: string): void {
  deleteRow(tx, "unapproved_amounts", { account_id, record_id });
}
