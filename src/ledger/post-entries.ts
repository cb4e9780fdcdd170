import type { Transaction, Writer } from "../platform/db/database.ts";
import { violatedCheck, violatedKey } from "../platform/db/outages.ts";
import { newId, timeOfId } from "../platform/ids.ts";
import { noteUnsealed, signEntries } from "../platform/sealing/seal.ts";
import { assertAuthentic, signBalance } from "./balance-mac.ts";
import {
  digestEntry,
  type Entry,
  findImbalance,
  isShared,
  type NewEntry,
  naturalAmount,
  ruleOf,
} from "./model.ts";
import { LEDGER_LOG } from "./sealed.ts";
import * as store from "./store.ts";

/**
 * Posts a set of entries with the writes of the transaction. Call it once per transaction, with all
 * entries: it locks rows in one order, which a second call would break. The whole commit fails if a
 * key was posted before (`isAlreadyPosted`), a balance is too low (`isOverdrawn`), or a balance is
 * not what this service left (`ForgedBalanceError`).
 */
export function postEntries(tx: Transaction, entries: readonly NewEntry[], now: Date): void {
  if (entries.length === 0) return;
  for (const entry of entries) check(entry);
  const keys = balanceKeys(entries);
  if (keys.length === 0) {
    insertPosted(tx, entries, [], now);
    return;
  }
  store.insertBalances(
    tx,
    keys.filter(({ ledger_account }) => isShared(ruleOf(ledger_account))),
  );
  store.lockBalances(tx, keys, (balances, writer) => {
    for (const balance of balances) assertAuthentic(writer, balance);
    insertPosted(writer, entries, balances, now);
  });
}

/** The balances are locked, so their newest entries stay the newest until this commits. */
function insertPosted(
  tx: Writer,
  entries: readonly NewEntry[],
  balances: readonly store.LockedBalance[],
  now: Date,
): void {
  const id_time = timeAfter(balances, now);
  const rows = entries
    .toSorted((a, b) => compare(a.account_id, b.account_id) || compare(a.key, b.key))
    .map((entry): Entry => ({ ...entry, id: newId(id_time), created_at: now }))
    .map((row) => ({ ...row, digest: digestEntry(row) }));
  const signed = signEntries(tx, LEDGER_LOG.log, rows);
  store.insertEntries(tx, signed);
  store.insertLines(tx, signed);
  const { kept = [], used_up = [] } = Object.groupBy(applyEntries(balances, signed), (balance) =>
    balance.balance === 0n && !isShared(ruleOf(balance.ledger_account)) ? "used_up" : "kept",
  );
  store.upsertBalances(
    tx,
    kept.map((balance) => signBalance(tx, balance)),
  );
  store.deleteBalances(
    tx,
    used_up.filter(({ is_stored }) => is_stored),
  );
  noteUnsealed(tx, LEDGER_LOG.log, signed, now);
}

/**
 * True if a commit failed because the key was already posted: another process did the same work.
 */
export function isAlreadyPosted(error: unknown): boolean {
  return violatedKey(error) === "ledger_entries_key";
}

/** True if a commit failed because an account's balance would have become negative. */
export function isOverdrawn(error: unknown): boolean {
  return violatedCheck(error) === "ledger_balances_balance_check";
}

/** Failures here are bugs; invalid input is handled before posting. */
function check(entry: NewEntry): void {
  const name = `the entry ${entry.key} (${entry.kind})`;
  if (entry.lines.length === 0) throw new Error(`${name} has no lines`);
  if (entry.lines.some((line) => line.amount === 0n)) throw new Error(`${name} has an empty line`);
  for (const line of entry.lines) ruleOf(line.ledger_account);
  const left = findImbalance(entry.lines);
  if (left) throw new Error(`${name} does not sum to zero: ${left.sum} ${left.currency}`);
}

/** The stored balances that entries change, in key order. */
function balanceKeys(entries: readonly NewEntry[]): store.LedgerAccountKey[] {
  const keys = new Map<string, store.LedgerAccountKey>();
  for (const { account_id, lines } of entries) {
    for (const { ledger_account, currency } of lines) {
      const key = { account_id, ledger_account, currency };
      if (ruleOf(ledger_account).is_kept) keys.set(textOf(key), key);
    }
  }
  return [...keys].sort(([a], [b]) => compare(a, b)).map(([, key]) => key);
}

/** The balances after the entries. */
function applyEntries(
  balances: readonly store.LockedBalance[],
  entries: readonly Entry[],
): store.LockedBalance[] {
  const changed = new Map(balances.map((balance) => [textOf(balance), { ...balance }]));
  for (const { account_id, id, lines } of entries) {
    for (const { ledger_account, currency, amount } of lines) {
      const balance = changed.get(textOf({ account_id, ledger_account, currency }));
      if (!balance) continue;
      balance.balance += naturalAmount(ledger_account, amount);
      balance.last_entry_id = id;
    }
  }
  return [...changed.values()];
}

/**
 * Ids of entries ascend on every stored balance, also when another process's clock is ahead: the
 * newest entry tells which state of a balance is the last one.
 */
function timeAfter(balances: readonly store.LockedBalance[], now: Date): Date {
  const last_ids = balances.flatMap(
    (balance) => balance.last_entry_id ?? balance.newest_line ?? [],
  );
  const last_ms = Math.max(...last_ids.map((id) => timeOfId(id).getTime()));
  return last_ms < now.getTime() ? now : new Date(last_ms + 1);
}

function textOf({ account_id, ledger_account, currency }: store.LedgerAccountKey): string {
  return `${account_id} ${ledger_account} ${currency}`;
}

/** Any order works if every process uses the same one, so not a locale's. */
function compare(a: string, b: string): number {
  if (a === b) return 0;
  return a < b ? -1 : 1;
}
