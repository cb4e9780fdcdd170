import { postEntries } from "../ledger/post.ts";
import { onrampGivenBack } from "../ledger/postings.ts";
import type { Database } from "../platform/db/database.ts";
import type { Keyring } from "../platform/encryption/keyring.ts";
import type { DepositFacts } from "./deposit-store.ts";
import { changeOnramp, recordChanges } from "./record-changes.ts";
import { lockOnramps, openOnramps } from "./store.ts";

/**
 * Fails an onramp whose deposit is to be returned, and gives the deposit back. False when its
 * coins may have left already. Asked again it says the same.
 */
export function giveBackOnramp(
  { database, keyring }: { database: Database; keyring: Keyring },
  deposit: DepositFacts,
  now: Date,
): Promise<boolean> {
  const key = { account_id: deposit.onramp_account_id!, id: deposit.onramp_id! };
  return database.transaction(async (tx) => {
    const rows = await lockOnramps(tx, [key]);
    const [entry] = await openOnramps(tx, keyring, rows);
    if (!entry || entry.onramp.deposit_id !== deposit.id) return false;
    const { onramp } = entry;
    if (onramp.status === "failed") return true;
    if (onramp.delivery !== "waiting") return false;
    const status_message = "The deposit was sent back to its payer.";
    recordChanges(tx, [changeOnramp(entry, { status: "failed", status_message }, now)], now);
    postEntries(tx, [onrampGivenBack(onramp, onramp.received!)], now);
    return true;
  });
}
