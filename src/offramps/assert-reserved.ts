import { findLastEvents, isLastEvent } from "../events/last-events.ts";
import type { Transaction } from "../platform/db/database.ts";
import { readAgreeing } from "../platform/sealing/put-back.ts";
import { assertManyVouched } from "../platform/sealing/vouched-rows.ts";
import type { UserKey } from "../users/store.ts";
import { digestFacts } from "./model.ts";
import { assertTotals } from "./quotes/fund-from-deposits.ts";
import { listReservingQuotes, listUnfundedQuotes, QUOTES } from "./quotes/store.ts";
import { findTotalsOf, listFailedOfframps } from "./reserved-store.ts";

/** Of the quotes that say that nothing is reserved for them, so many of a user are checked. */
const CHECKED_MAX = 200;

/**
 * What executed quotes have received stays reserved for their offramps, except for those that
 * failed. Before a balance is given back: fails if somebody changed a quote, its totals, or an
 * offramp that is said to have failed.
 *
 * A user may have any number of quotes that are executed and never paid, and the user is locked
 * meanwhile: of those only some are checked here (`CHECKED_MAX` open ones, and as many of the
 * newest ended ones), and all by `verify`.
 */
export async function assertReserved(tx: Transaction, users: readonly UserKey[]): Promise<void> {
  const [reserving, others] = await Promise.all([
    listReservingQuotes(tx, users),
    listUnfundedQuotes(tx, users, CHECKED_MAX),
  ]);
  QUOTES.assertVouched(tx, others);
  const waiting = await assertManyVouched(QUOTES, tx, reserving);
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
  const totals = new Map((await findTotalsOf(tx, waiting)).map((sums) => [sums.id, sums]));
  for (const quote of waiting) assertTotals(quote, totals.get(quote.id)!);
}
