import type { NewEntry } from "../ledger/model.ts";
import { postEntries } from "../ledger/post.ts";
import {
  offrampFailedAfterInstruction,
  offrampFailedBeforeInstruction,
  offrampFunded,
} from "../ledger/postings.ts";
import { AccountMap } from "../platform/account-map.ts";
import type { Transaction } from "../platform/db/database.ts";
import { enqueueTasks, taskNow } from "../platform/tasks/tasks.ts";
import type { OfframpRule } from "./change-offramps.ts";
import type { Offramp } from "./model.ts";
import type { Quote } from "./quotes/model.ts";
import { lockQuotes } from "./quotes/store.ts";
import { type ChangedOfframp, changeOfframp } from "./record-changes.ts";
import { findOfframps, type KeyedOfframp } from "./store.ts";
import { FUND_QUOTE_TASK } from "./task-kinds.ts";

/** Entries by the change they belong to: what is refused after all posts nothing. */
type Extra = { quotes: AccountMap<Quote>; entries: Map<ChangedOfframp, NewEntry[]> };

/**
 * Gives up a payout that waits or bounced: the whole token amount, fee included, is owed to the
 * user again.
 */
export const refundOfframps: OfframpRule<null, Extra> = {
  name: "refund-offramps",
  load: async (tx, commands) => {
    const keys = commands.map(({ account_id, input }) => ({ account_id, id: input.offramp_id }));
    return { quotes: await lockQuotesOf(tx, keys), entries: new Map() };
  },
  decide: (entry, { account_id }, { quotes, entries }, now) => {
    const { offramp } = entry;
    if (!["bounced", "ongoing_checks"].includes(offramp.status)) {
      const message = "Only an offramp with the status bounced or ongoing_checks can be refunded.";
      return { problems: [{ field: "offramp_id", code: "invalid_transition", message }] };
    }
    const message = "The payout was refunded. The deposit was credited to the user's balance.";
    const given_up = giveUp(entry, quotes.get(account_id, offramp.quote_id)!, message, now);
    entries.set(given_up.change, given_up.entries);
    return { value: given_up.change };
  },
  record: (tx, changes, { entries }, now) => {
    const posted = changes.flatMap((change) => entries.get(change) ?? []);
    postEntries(tx, posted, now);
    fundTheRest(tx, changes, now);
  },
};

/** Locks the quotes of these offramps, which go before the offramps themselves. */
export async function lockQuotesOf(
  tx: Transaction,
  keys: readonly { account_id: string; id: string }[],
): Promise<AccountMap<Quote>> {
  const seen = await findOfframps(tx, keys);
  const quote_keys = seen.map(({ account_id, quote_id }) => ({ account_id, id: quote_id }));
  return AccountMap.of(await lockQuotes(tx, quote_keys), (quote) => quote);
}

/**
 * The offramp after it has failed, with the entries that give its money back. Its quote must be
 * locked: while the deposit is short the quote simply need not pay for it any more; once the quote
 * is funded, the offramp first gets its part, if it has not yet come to it, and then returns it.
 */
export function giveUp(
  entry: KeyedOfframp,
  quote: Quote,
  status_message: string,
  now: Date,
): { change: ChangedOfframp; entries: NewEntry[] } {
  const { offramp } = entry;
  const is_funded_now = offramp.funded_at === null && quote.funded_at !== null;
  const funded_at = is_funded_now ? now : offramp.funded_at;
  const change = changeOfframp(entry, { status: "failed", status_message, funded_at }, now);
  if (funded_at === null) return { change, entries: [] };
  const given_back =
    offramp.attempt > 0
      ? offrampFailedAfterInstruction(offramp)
      : offrampFailedBeforeInstruction(offramp);
  return { change, entries: is_funded_now ? [offrampFunded(offramp), given_back] : [given_back] };
}

/** What came may suffice for the rest of a quote whose deposit is short. */
function fundTheRest(tx: Transaction, changes: readonly ChangedOfframp[], now: Date): void {
  const unfunded = changes.map(({ offramp }) => offramp).filter((offramp) => !offramp.funded_at);
  const by_quote = new Map<string, Offramp>(unfunded.map((offramp) => [offramp.quote_id, offramp]));
  enqueueTasks(
    tx,
    [...by_quote].map(([quote_id, { account_id }]) =>
      taskNow(FUND_QUOTE_TASK, { account_id, id: quote_id }, now),
    ),
  );
}
