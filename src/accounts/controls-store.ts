import type { Session, Transaction } from "../platform/db/database.ts";
import { type AccountSet, accountsOf, findRow } from "../platform/db/rows.ts";
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
  const accounts = accountsOf(tx, owned);
  const [all, locked] = await Promise.all([
    tx.query<AccountControls>(`select * from account_controls where account_id ${accounts.equal}`, [
      accounts.value,
    ]),
    selectCounted(tx, accounts, counts_all),
  ]);
  ACCOUNT_CONTROLS.assertVouched(tx, all);
  return ACCOUNT_CONTROLS.assertVouched(tx, locked);
}

async function selectCounted(
  tx: Session,
  accounts: AccountSet,
  counts_all: boolean,
): Promise<AccountControls[]> {
  // The rules that hold for every account belong to none: they are read with the others, or before
  // them where a statement names one account.
  const of_all = `or exists (select from limit_rules where account_id = '${FIRST_ID}')`;
  const counts = counts_all || (tx.by_account && (await existsRuleOfAll(tx)));
  return tx.query<AccountControls>(
    `select * from account_controls
     where account_id ${accounts.equal} and ($2 or approval_above_usd is not null
       or exists (select from limit_rules
         where limit_rules.account_id = ${accounts.is_one ? "$1" : "account_controls.account_id"})
       ${tx.by_account ? "" : of_all})
     order by account_id for no key update`,
    [accounts.value, counts],
  );
}

async function existsRuleOfAll(session: Session): Promise<boolean> {
  const rows = await session.query("select from limit_rules where account_id = $1 limit 1", [
    FIRST_ID,
  ]);
  return rows.length > 0;
}
