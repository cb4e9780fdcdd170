import type { Session } from "../platform/db/database.ts";
import type { Keyring } from "../platform/encryption/keyring.ts";
import { findEnabled } from "./store.ts";

/** What an account gives to its applications. */
export type Owner = { account_id: string; account_key: Buffer; webhooks_enabled_at: Date | null };
/** By account. */
export type Owners = ReadonlyMap<string, Owner>;

export async function loadOwners(
  session: Session,
  keyring: Keyring,
  owned: readonly { account_id: string }[],
): Promise<Owners> {
  const [keys, enabled] = await Promise.all([
    keyring.openAccounts(session, owned),
    findEnabled(session, owned),
  ]);
  return new Map(
    [...keys].map(([account_id, account_key]) => {
      const webhooks_enabled_at = enabled.get(account_id) ?? null;
      return [account_id, { account_id, account_key, webhooks_enabled_at }];
    }),
  );
}
