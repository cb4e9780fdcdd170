import type { EntryLine, NewEntry } from "./model.ts";
import type { PostingKind } from "./posting-table.ts";

/** A part of zero, such as no fee, gets no line. */
export function entry(
  kind: PostingKind,
  { account_id }: { account_id: string },
  key: string,
  lines: readonly (readonly [ledger_account: string, currency: string, amount: bigint])[],
): NewEntry {
  const present = lines
    .filter(([, , amount]) => amount !== 0n)
    .map(([ledger_account, currency, amount]): EntryLine => ({ ledger_account, currency, amount }));
  return { account_id, key, kind, lines: present };
}
