import type { Entry, NewEntry } from "../ledger/model.ts";
import { listEntriesByKey } from "../ledger/store.ts";
import type { Session } from "../platform/db/database.ts";
import { entryName } from "./verify-ledger.ts";

/**
 * How an entry differs from what the posting table derives from its record; null if it does not.
 */
export function compareEntry(entry: Entry, expected: NewEntry): string | null {
  const name = `${entryName(entry.id, entry.account_id)} (${entry.key})`;
  if (entry.kind !== expected.kind) return `${name}: it is ${entry.kind}, not ${expected.kind}`;
  const wanted = expected.lines.map(textOf).sort();
  const found = entry.lines.map(textOf).sort();
  const missing = wanted.find((line, at) => line !== found[at]);
  if (missing !== undefined || wanted.length !== found.length) {
    return (
      `${name}: its lines are ${found.join(", ")}, but its record requires ` +
      `${wanted.join(", ")}`
    );
  }
  return null;
}

/** Compares a page of entries, which must all exist, with those derived from their records. */
export async function compareEntries(
  session: Session,
  account_id: string,
  expected: readonly NewEntry[],
): Promise<string | null> {
  const keys = expected.map((entry) => entry.key);
  const entries = await listEntriesByKey(session, account_id, keys);
  const by_key = new Map(entries.map((entry) => [entry.key, entry]));
  for (const wanted of expected) {
    const entry = by_key.get(wanted.key);
    if (!entry) return `account ${account_id} has no ledger entry ${wanted.key} (${wanted.kind})`;
    const fault = compareEntry(entry, wanted);
    if (fault) return fault;
  }
  return null;
}

function textOf({ ledger_account, currency, amount }: NewEntry["lines"][number]): string {
  return `${ledger_account} ${amount} ${currency}`;
}
