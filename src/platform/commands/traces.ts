import type { Transaction } from "../db/database.ts";
import type { Command } from "./use-case.ts";

/** By transaction: which account's writes belong to which trace. */
const traces = new WeakMap<Transaction, ReadonlyMap<string, string>>();

/**
 * Records which trace each account's writes in this transaction belong to. An account whose
 * commands in one set have different traces gets none: a row could belong to any of them.
 */
export function noteTraces(tx: Transaction, commands: readonly Command<unknown>[]): void {
  const by_account = Map.groupBy(commands, ({ account_id }) => account_id);
  const known = [...by_account].flatMap(([account_id, [first, ...others]]) => {
    const trace_id = first!.trace_id;
    const is_shared = others.every((other) => other.trace_id === trace_id);
    return trace_id && is_shared ? [[account_id, trace_id] as const] : [];
  });
  if (known.length > 0) traces.set(tx, new Map(known));
}

/**
 * The trace of the request that causes this account's writes in the transaction, if there is one.
 */
export function findTrace(tx: Transaction, account_id: string): string | null {
  return traces.get(tx)?.get(account_id) ?? null;
}
