import type { Session, Transaction } from "../../platform/db/database.ts";
import { deleteRow } from "../../platform/db/rows.ts";

/** Filters of the list of payouts under a name, as a part of its URL. */
export type PayoutView = { name: string; search: string };
type Member = { account_id: string; person_id: string };

/** In the order in which they were saved. */
export function listPayoutViews(
  session: Session,
  { account_id, person_id }: Member,
): Promise<PayoutView[]> {
  return session.query<PayoutView>(
    `select name, search from payout_views where account_id = $1 and person_id = $2
     order by created_at, name`,
    [account_id, person_id],
  );
}

/** One request of a member at a time: the next one counts what this one saved. */
export async function lockViewsOf(tx: Session, { account_id, person_id }: Member): Promise<void> {
  await tx.query("select from members where account_id = $1 and person_id = $2 for no key update", [
    account_id,
    person_id,
  ]);
}

export function upsertPayoutView(
  tx: Transaction,
  { account_id, person_id }: Member,
  { name, search }: PayoutView,
  created_at: Date,
): void {
  tx.write(
    `insert into payout_views (account_id, person_id, name, search, created_at)
     values ($1, $2, $3, $4, $5)
     on conflict (account_id, person_id, name) do update set search = excluded.search`,
    [account_id, person_id, name, search, created_at],
  );
}

export function deletePayoutView(tx: Transaction, member: Member, name: string): void {
  const { account_id, person_id } = member;
  deleteRow(tx, "payout_views", { account_id, person_id, name });
}
