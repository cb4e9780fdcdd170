import type { Transaction } from "../platform/db/database.ts";
import type { Keyring } from "../platform/encryption/keyring.ts";
import { newId } from "../platform/ids.ts";
import { recordAudit } from "./audit.ts";
import type { Account, Actor } from "./model.ts";
import { insertAccount } from "./store.ts";

/**
 * Creates an account with its encryption key. The installation's first account is the operator's.
 */
export async function createAccount(
  tx: Transaction,
  keyring: Keyring,
  input: {
    name: string;
    is_operator: boolean;
    /** Other accounts are enabled by the operator later. */
    webhooks_enabled?: boolean;
    actor: Actor;
    reason: string;
  },
  now: Date,
): Promise<Account> {
  const { name, is_operator, webhooks_enabled = false, actor, reason } = input;
  const account: Account = {
    id: newId(now),
    name,
    is_operator,
    kyc_two_person_approval: false,
    kyc_review_by_account: false,
    document_review_by_account: false,
    webhooks_enabled_at: webhooks_enabled ? now : null,
    created_at: now,
  };
  insertAccount(tx, account);
  await keyring.createAccount(tx, account.id, now);
  recordAudit(
    tx,
    {
      account_id: account.id,
      actor,
      action: "account.create",
      record: `account:${account.id}`,
      reason,
    },
    now,
  );
  return account;
}
