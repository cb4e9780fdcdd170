import type { Transaction } from "../platform/db/database.ts";
import { recordAudit } from "./audit.ts";
import type { Account, Actor } from "./model.ts";
import { updateAccountReview } from "./store.ts";

export type AccountChange = Partial<
  Pick<Account, "kyc_two_person_approval" | "kyc_review_by_account">
>;

/** Sets who reviews the identities of an account's users, and whether two must agree. */
export function updateAccount(
  tx: Transaction,
  found: Account,
  change: AccountChange,
  by: { actor: Actor; reason: string },
  now: Date,
): Account {
  const account = { ...found, ...change };
  updateAccountReview(tx, account);
  recordAudit(
    tx,
    {
      account_id: account.id,
      ...by,
      action: "account.update",
      record: `account:${account.id}`,
      detail: { ...change },
    },
    now,
  );
  return account;
}
