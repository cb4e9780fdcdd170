import { onrampGivenBack } from "../ledger/onramp-postings.ts";
import { postEntries } from "../ledger/post-entries.ts";
import type { Database } from "../platform/db/database.ts";
import { limitLockWait } from "../platform/db/lock-wait.ts";
import type { Keyring } from "../platform/encryption/keyring.ts";
import type { DepositFacts } from "./deposits/store.ts";
import { isReturnable } from "./model.ts";
import { changeOnramp, recordChanges } from "./record-changes.ts";
import { lockOnramps, openOnramps } from "./store.ts";

/**
 * Fails an onramp whose deposit is to be returned, and gives the deposit back. False when its coins
 * may have been sent. Repeated calls return the same.
 */
export function giveBackOnramp(
  deps: { database: Database; keyring: Keyring; lock_wait_max_ms?: number },
  deposit: DepositFacts,
  now: Date,
): Promise<boolean> {
  const { database, keyring, lock_wait_max_ms } = deps;
  const key = { account_id: deposit.onramp_account_id!, id: deposit.onramp_id! };
  return database.transaction(async (tx) => {
    if (lock_wait_max_ms !== undefined) limitLockWait(tx, lock_wait_max_ms);
    const [row] = await lockOnramps(tx, [key]);
    if (row?.deposit_id !== deposit.id) return false;
    // Before any key is opened: the user may have been erased since it was given back.
    if (row.status === "failed") return true;
    if (!isReturnable(row)) return false;
    const [entry] = await openOnramps(tx, keyring, [row]);
    if (!entry) throw new Error("the user was erased while a deposit was on its way");
    const { onramp } = entry;
    const status_message =
      deposit.reason === "held"
        ? "A check held the onramp for too long. The operator decides what happens to the deposit."
        : "The deposit was returned to its payer.";
    recordChanges(tx, [changeOnramp(entry, { status: "failed", status_message }, now)], now);
    postEntries(tx, [onrampGivenBack(onramp, onramp.received!)], now);
    return true;
  });
}
