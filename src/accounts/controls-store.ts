import type { Session, Transaction } from "../platform/db/database.ts";
import { findRow } from "../platform/db/rows.ts";
import { FIRST_ID } from "../platform/ids.ts";
import { vouchedTable } from "../platform/sealing/vouched-rows.ts";
import { updateVouched } from "../platform/sealing/write-vouched.ts";

/** What limits an account's requests beyond the settings. */
export type AccountControls = {
  account_id: string;
  /** Cents; null: the setting decides. */
  approval_above_usd: bigint | null;
};

export const ACCOUNT_CONTROLS = vouchedTable(
  "account_controls",
  ["account_id"],
  ["approval_above_usd"],
);

/** Fails if somebody changed them. */
export async function findControls(session: Session, account_id: string): Promise<AccountControls> {
  const row = await findRow<AccountControls>(session, "account_controls", { account_id });
  if (!row) return { account_id, approval_above_usd: null };
  return ACCOUNT_CONTROLS.assertVouched(session, [row])[0]!;
}

export function updateControls(tx: Transaction, controls: AccountControls): void {
  const { account_id, approval_above_usd } = controls;
  updateVouched(tx, ACCOUNT_CONTROLS, { account_id }, { approval_above_usd });
}

/**
 * Locks those of the accounts in which amounts are counted, in key order; the others have nothing
 * to count and are left out. This lock comes before those of users and quotes. Fails if somebody
 * changed the controls of one, for example so that nothing is counted.
 */
export async function lockControls(
  tx: Session,
  owned: readonly { account_id: string }[],
  counts_all: boolean,
): Promise<AccountControls[]> {
  const account_ids = [...new Set(owned.map(({ account_id }) => account_id))];
  const [all, locked] = await Promise.all([
    tx.query<AccountControls>("select * from account_controls where account_id = any($1::uuid[])", [
      account_ids,
    ]),
    selectCounted(tx, account_ids, counts_all),
  ]);
  ACCOUNT_CONTROLS.assertVouched(tx, all);
  return ACCOUNT_CONTROLS.assertVouched(tx, locked);
}

function selectCounted(
  tx: Session,
  account_ids: readonly string[],
  counts_all: boolean,
): Promise<AccountControls[]> {
  return tx.query<AccountControls>(
    `select * from account_controls
     where account_id = any($1::uuid[]) and ($2 or approval_above_usd is not null
       or exists (select from limit_rules
         where limit_rules.account_id in (account_controls.account_id, '${FIRST_ID}')))
     order by account_id for no key update`,
    [account_ids, counts_all],
  );
}
