import type { Transaction } from "../platform/db/database.ts";
import { recordAudit } from "./audit.ts";
import { updateControls } from "./controls-store.ts";
import type { Account, Actor } from "./model.ts";
import { updateAccountReview } from "./store.ts";

export type AccountChange = Partial<
  Pick<Account, "kyc_two_person_approval" | "kyc_review_by_account" | "document_review_by_account">
> & {
  /** Cents; null: the installation's setting decides. */
  approval_above_usd?: bigint | null;
};

/** Sets who reviews for an account, whether two must agree, and the approval amount. */
export function updateAccount(
  tx: Transaction,
  found: Account,
  change: AccountChange,
  by: { actor: Actor; reason: string },
  now: Date,
): Account {
  const { approval_above_usd, ...review } = change;
  const account = { ...found, ...review };
  updateAccountReview(tx, account);
  const is_amount_changed = approval_above_usd !== undefined;
  if (is_amount_changed) updateControls(tx, { account_id: account.id, approval_above_usd });
  recordAudit(
    tx,
    {
      account_id: account.id,
      ...by,
      action: "account.update",
      record: `account:${account.id}`,
      detail: {
        ...review,
        ...(is_amount_changed
          ? { approval_above_usd: approval_above_usd === null ? null : `${approval_above_usd}` }
          : {}),
      },
    },
    now,
  );
  return account;
}
