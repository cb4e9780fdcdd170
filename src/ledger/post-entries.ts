import type { Transaction } from "../platform/db/database.ts";
import { isDatabaseError, violatedKey } from "../platform/db/outages.ts";
import { newId } from "../platform/ids.ts";
import { noteUnsealed } from "../platform/sealing/seal.ts";
import {
  digestEntry,
  type Entry,
  findImbalance,
  type NewEntry,
  naturalAmount,
  ruleOf,
} from "./model.ts";
import { LEDGER_LOG } from "./sealed.ts";
import * as store from "./store.ts";

/**
 * Posts a set of entries with the writes of the transaction. Call it once per transaction, with all
 * entries: it locks rows in one order, which a second call would break. The whole commit fails if a
 * key was posted before (`isAlreadyPosted`) or a balance is too low (`isOverdrawn`).
 */
export function postEntries(tx: Transaction, entries: readonly NewEntry[], now: Date): void {
  if (entries.length === 0) return;
  for (const entry of entries) check(entry);
  const rows = entries
    .map((entry): Entry => ({ ...entry, id: newId(now), created_at: now }))
    .sort((a, b) => compare(a.account_id, b.account_id) || compare(a.key, b.key));
  store.insertEntries(tx, rows);
  store.insertLines(tx, rows);
  const changes = balanceChanges(rows);
  if (changes.length > 0) {
    store.insertBalances(tx, changes);
    store.lockBalances(tx, changes);
    store.updateBalances(tx, changes);
  }
  const log_entries = rows.map((row) => ({
    account_id: row.account_id,
    id: row.id,
    digest: digestEntry(row),
  }));
  noteUnsealed(tx, LEDGER_LOG.log, log_entries, now);
}

/**
 * True if a commit failed because the key was already posted: another process did the same work.
 */
export function isAlreadyPosted(error: unknown): boolean {
  return violatedKey(error) === "ledger_entries_key";
}

/** True if a commit failed because an account's balance would have become negative. */
export function isOverdrawn(error: unknown): boolean {
  return isDatabaseError(error) && error.constraint === "ledger_balances_balance_check";
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

/** One change per stored balance, in key order; changes that cancel out are omitted. */
function balanceChanges(entries: readonly Entry[]): store.BalanceChange[] {
  const changes = new Map<string, store.BalanceChange>();
  for (const { account_id, lines } of entries) {
    for (const { ledger_account, currency, amount } of lines) {
      if (!ruleOf(ledger_account).is_kept) continue;
      const key = `${account_id} ${ledger_account} ${currency}`;
      const before = changes.get(key)?.change ?? 0n;
      const change = before + naturalAmount(ledger_account, amount);
      changes.set(key, { account_id, ledger_account, currency, change });
    }
  }
  return [...changes.entries()]
    .filter(([, { change }]) => change !== 0n)
    .sort(([a], [b]) => compare(a, b))
    .map(([, change]) => change);
}

/** Any order works if every process uses the same one, so not a locale's. */
function compare(a: string, b: string): number {
  if (a === b) return 0;
  return a < b ? -1 : 1;
}
