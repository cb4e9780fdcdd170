import { type MacBearer, rowMac } from "../platform/sealing/row-mac.ts";
import type { LedgerAccountKey, LockedBalance, StoredBalance } from "./store.ts";

/*
 * A stored balance is what lets money go. Whoever posts to it reads it under its lock, checks its
 * MAC, and writes the new balance with a new one. An earlier balance that was put back, with its
 * MAC, does not contain the newest line of its account. One of a record is not stored while it is
 * zero: its lines say so.
 */
const BALANCE_MAC = rowMac(
  "ledger_balances",
  "account_id",
  "ledger_account",
  "currency",
  "balance",
  "last_entry_id",
);

class ForgedBalanceError extends Error {}

export function signBalance<Balance extends StoredBalance>(
  bearer: MacBearer,
  balance: Balance,
): Balance {
  return { ...balance, mac: BALANCE_MAC.make(bearer, balance) };
}

/** Throws unless this service wrote the balance and it contains all entries of its account. */
export function assertAuthentic(bearer: MacBearer, balance: LockedBalance): void {
  const { is_stored, last_entry_id, newest_line, unstored } = balance;
  if (!is_stored) {
    if (unstored === 0n) return;
    throw forged(balance, `is missing, but its lines sum to ${unstored}`);
  }
  if (!isSigned(bearer, balance)) throw forged(balance, "was not written by this service");
  if (newest_line !== null && (last_entry_id === null || newest_line > last_entry_id)) {
    throw forged(balance, `does not contain the entry ${newest_line}`);
  }
}

/** A balance that was never posted to has no MAC. */
export function isSigned(bearer: MacBearer, balance: StoredBalance): boolean {
  const { mac, last_entry_id } = balance;
  if (mac === null && last_entry_id === null) return balance.balance === 0n;
  return BALANCE_MAC.holds(bearer, balance);
}

function forged({ account_id, ledger_account, currency }: LedgerAccountKey, why: string) {
  return new ForgedBalanceError(
    `the balance ${ledger_account} in ${currency} of account ${account_id} ${why}; ` +
      "run sliproad verify",
  );
}
