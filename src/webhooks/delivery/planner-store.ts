import type { Session } from "../../platform/db/database.ts";
import { setLocal } from "../../platform/db/set-local.ts";

/*
 * The queue grows and shrinks within minutes, so its statistics are always outdated. Where they
 * have seen it empty, all plans seem to cost the same, and the planner used to read all of the
 * queue for each page, or for each of a few hundred keys: 40 000 deliveries then took more than a
 * minute instead of six seconds. Both settings last until the end of the transaction.
 */

/** For statements with a set of keys: each is looked up, because bitmap scans need a condition. */
export async function planByKey(tx: Session): Promise<void> {
  if (tx.by_account) await planByRecord(tx);
  else await turnOff(tx, ["enable_hashjoin", "enable_mergejoin", ...INDEX_SCANS]);
}

const INDEX_SCANS = ["enable_indexscan", "enable_indexonlyscan"];

/** For pages: they are read in the order of the index, and end with the limit. */
export async function planInOrder(tx: Session): Promise<void> {
  await turnOff(tx, ["enable_bitmapscan", ...(tx.by_account ? IN_ORDER : [])]);
}

/**
 * For a record's entries. A statement that names its account could also read all that the account
 * has: it asks for the order of the index by record, which only that index has without sorting.
 */
export async function planByRecord(tx: Session): Promise<void> {
  if (tx.by_account) await turnOff(tx, IN_ORDER);
}

// Before PostgreSQL 18 a sort that cannot be avoided counts as so expensive that its statement
// would be compiled first.
const IN_ORDER = ["enable_sort", "jit"];

async function turnOff(tx: Session, names: readonly string[]): Promise<void> {
  await setLocal(tx, Object.fromEntries(names.map((name) => [name, "off"])));
}
