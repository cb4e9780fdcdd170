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
import { advanceOfframp, type ChangedOfframp } from "./record-changes.ts";
import { findOfframps, type KeyedOfframp } from "./store.ts";
import { FUND_QUOTE_TASK } from "./task-kinds.ts";

/** Entries by the change they belong to: a change that is refused posts nothing. */
type Extra = { quotes: AccountMap<Quote>; entries: Map<ChangedOfframp, NewEntry[]> };

/**
 * Gives up a waiting or bounced payout: the whole token amount, fee included, is owed to the user
 * again.
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

/** Locks the quotes of these offramps; quotes are always locked before offramps. */
export async function lockQuotesOf(
  tx: Transaction,
  keys: readonly { account_id: string; id: string }[],
): Promise<AccountMap<Quote>> {
  const seen = await findOfframps(tx, keys);
  const quote_keys = seen.map(({ account_id, quote_id }) => ({ account_id, id: quote_id }));
  return AccountMap.of(await lockQuotes(tx, quote_keys), (quote) => quote);
}

/**
 * The offramp after it failed, with the ledger entries that return its money. Its quote must be
 * locked. While the deposit is short, the quote only stops paying for it. Once the quote is funded,
 * the offramp first receives its part, if it has not yet, and then returns it.
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
  const change = advanceOfframp(entry, { status: "failed", status_message, funded_at }, now);
  if (funded_at === null) return { change, entries: [] };
  const given_back =
    offramp.attempt > 0
      ? offrampFailedAfterInstruction(offramp)
      : offrampFailedBeforeInstruction(offramp);
  return { change, entries: is_funded_now ? [offrampFunded(offramp), given_back] : [given_back] };
}

/** The deposit may now suffice for the rest of a short quote. */
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
