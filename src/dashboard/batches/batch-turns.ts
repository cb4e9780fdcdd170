import { setImmediate } from "node:timers/promises";
import { SECOND_MS } from "../../platform/durations.ts";
import { createRestingTurns } from "../../platform/http/account-turns.ts";

/** Together some milliseconds. */
const ROWS_AT_ONCE = 20;

/**
 * Whatever is done with a large batch takes the thread that answers everybody some tenths of a
 * second.
 */
export const inBatchTurn = createRestingTurns(10 * SECOND_MS);

/** Thousands of rows take long: others are served in between. */
export async function inParts<In, Out>(list: readonly In[], map: (one: In) => Out): Promise<Out[]> {
  const results: Out[] = [];
  for (let at = 0; at < list.length; at += ROWS_AT_ONCE) {
    if (at > 0) await setImmediate();
    for (const one of list.slice(at, at + ROWS_AT_ONCE)) results.push(map(one));
  }
  return results;
}
