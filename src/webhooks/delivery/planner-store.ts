import type { Session } from "../../platform/db/database.ts";

/*
 * The queue grows and shrinks within minutes, so its statistics are always outdated. Where they
 * have seen it empty, all plans seem to cost the same, and the planner used to read all of the
 * queue for each page, or for each of a few hundred keys: 40 000 deliveries then took more than a
 * minute instead of six seconds. Both settings last until the end of the transaction.
 */

/** For statements with a set of keys: each is looked up, because bitmap scans need a condition. */
export async function planByKey(tx: Session): Promise<void> {
  await turnOff(tx, ["hashjoin", "mergejoin", "indexscan", "indexonlyscan"]);
}

/** For pages: they are read in the order of the index, and end with the limit. */
export async function planInOrder(tx: Session): Promise<void> {
  await turnOff(tx, ["bitmapscan"]);
}

async function turnOff(tx: Session, ways: readonly string[]): Promise<void> {
  const settings = ways.map((way) => `set_config('enable_${way}', 'off', true)`);
  await tx.query(`select ${settings.join(", ")}`);
}
