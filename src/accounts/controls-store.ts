import type { Session, Transaction } from "../platform/db/database.ts";
import { findRow, updateRow } from "../platform/db/rows.ts";
import { FIRST_ID } from "../platform/ids.ts";

/** What limits an account's requests beyond the settings. */
export type AccountControls = {
  account_id: string;
  /** Cents; null: the setting decides. */
  approval_above_usd: bigint | null;
};

export async function findControls(session: Session, account_id: string): Promise<AccountControls> {
  const row = await findRow<AccountControls>(session, "account_controls", { account_id });
  return row ?? { account_id, approval_above_usd: null };
}

export function updateControls(tx: Transaction, controls: AccountControls): void {
  const { account_id, approval_above_usd } = controls;
  updateRow(tx, "account_controls", { account_id }, { approval_above_usd });
}

/**
 * Locks those of the accounts in which amounts are counted, in key order; the others have nothing
 * to count and are left out. This lock comes before those of users and quotes.
 */
export function lockControls(
  tx: Session,
  owned: readonly { account_id: string }[],
  counts_all: boolean,
): Promise<AccountControls[]> {
  return tx.query<AccountControls>(
    `select account_id, approval_above_usd from account_controls
     where account_id = any($1::uuid[]) and ($2 or approval_above_usd is not null
       or exists (select from limit_rules
         where limit_rules.account_id in (account_controls.account_id, '${FIRST_ID}')))
     order by account_id for no key update`,
    [[...new Set(owned.map(({ account_id }) => account_id))], counts_all],
  );
}
