import { setImmediate } from "node:timers/promises";
import { SECOND_MS } from "../../platform/durations.ts";
import { createAccountTurns } from "../../platform/http/account-turns.ts";
import { thenRest } from "../../platform/http/then-rest.ts";

/** Together some milliseconds. */
const ROWS_AT_ONCE = 20;
const oneByOne = createAccountTurns(1, 10 * SECOND_MS);

/**
 * Whatever is done with a large batch takes the thread that answers everybody some tenths of a
 * second: one at a time of each account, with time for the others in between.
 */
export function inBatchTurn<Result>(
  account_id: string,
  work: () => Promise<Result>,
): Promise<Result> {
  return new Promise((resolve, reject) => {
    oneByOne(account_id, () => thenRest(work().then(resolve))).catch(reject);
  });
}

/** Thousands of rows take long: others are served in between. */
export async function inParts<In, Out>(list: readonly In[], map: (one: In) => Out): Promise<Out[]> {
  const results: Out[] = [];
  for (let at = 0; at < list.length; at += ROWS_AT_ONCE) {
    if (at > 0) await setImmediate();
    for (const one of list.slice(at, at + ROWS_AT_ONCE)) results.push(map(one));
  }
  return results;
}
