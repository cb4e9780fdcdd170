import { findLastEvents, isLastEvent } from "../events/last-events.ts";
import type { Transaction } from "../platform/db/database.ts";
import { readAgreeing } from "../platform/sealing/put-back.ts";
import type { UserKey } from "../users/store.ts";
import { digestFacts } from "./model.ts";
import { withoutAbandoned } from "./quotes/fund-from-deposits.ts";
import { listUnfundedQuotes, QUOTES } from "./quotes/store.ts";
import { listFailedOfframps } from "./store.ts";

/**
 * What executed quotes have received stays reserved for their offramps, except for those that
 * failed. Before a balance is given back: fails if somebody changed a quote, its totals, or an
 * offramp that is said to have failed.
 */
export async function assertReserved(tx: Transaction, users: readonly UserKey[]): Promise<void> {
  const quotes = QUOTES.assertVouched(tx, await listUnfundedQuotes(tx, users));
  const waiting = quotes.filter(({ closed_at }) => closed_at === null);
  if (waiting.length === 0) return;
  const read = async () => {
    const failed = await listFailedOfframps(tx, waiting);
    return { failed, last: await findLastEvents(tx, failed) };
  };
  // Nothing locks the offramps here: one may fail between the two statements.
  await readAgreeing(tx, read, ({ failed, last }) => {
    const wrong = failed.find((row) => !isLastEvent(tx, last, { ...row, facts: digestFacts(row) }));
    return wrong && { table: "offramps", key: [wrong.account_id, wrong.id] };
  });
  for (const quote of waiting) await withoutAbandoned(tx, quote);
}
