import type { Clock } from "../platform/clock.ts";
import type { Transaction } from "../platform/db/database.ts";
import { MINUTE_MS } from "../platform/durations.ts";
import { enqueueTasks } from "../platform/tasks/tasks.ts";
import type { CurrentPrices } from "../prices/price-book.ts";
import type { OfframpRule } from "./change-offramps.ts";
import {
  type GivenUp,
  type GiveUpFacts,
  giveUp,
  lockForGiveUp,
  recordGiveUps,
  withPayouts,
} from "./give-up.ts";
import type { Offramp } from "./model.ts";
import type { Payout } from "./payouts/model.ts";
import { updatePayouts } from "./payouts/store.ts";
import type { ChangedOfframp } from "./record-changes.ts";
import { FUND_QUOTE_TASK } from "./task-kinds.ts";

/** By change: one that is refused posts nothing. `withdrawn`: the attempt that is not sent. */
export type RefundExtra = {
  facts: GiveUpFacts;
  given_up: Map<ChangedOfframp, GivenUp & { withdrawn: Payout | null }>;
};

/**
 * Gives up a waiting or bounced payout: its money is owed to the user again. One that is being sent
 * can be given up as long as no bank was given it: it waits for a release of payouts, or because
 * its rail is new. Of a quote that is not paid in full only until it expires: later it would choose
 * what is paid at the old rate.
 */
export function refundOfframps(
  prices: CurrentPrices,
  clock: Clock,
): OfframpRule<null, RefundExtra> {
  return {
    name: "refund-offramps",
    act: "offramp.refund",
    load: async (tx, commands) => {
      const keys = commands.map(({ account_id, input }) => ({ account_id, id: input.offramp_id }));
      const facts = await lockForGiveUp(tx, prices, keys, clock.now());
      return { facts, given_up: new Map() };
    },
    loadMore: async (tx, extra, offramps) => ({
      ...extra,
      facts: await withPayouts(tx, extra.facts, offramps),
    }),
    decide: (entry, { account_id, input }, { facts, given_up }, now) => {
      const { offramp } = entry;
      const withdrawn = findUnsent(offramp, facts, now);
      if (!["bounced", "ongoing_checks"].includes(offramp.status) && !withdrawn) {
        const message =
          "Only an offramp with the status bounced or ongoing_checks can be refunded, or one " +
          "that waits to be given to a bank.";
        return { problems: [{ field: "offramp_id", code: "invalid_transition", message }] };
      }
      const quote_of = facts.quotes.get(account_id, offramp.quote_id)!;
      if (quote_of.funded_at === null && now >= quote_of.expires_at) {
        const message =
          "The quote has expired, and its deposit pays all of its offramps or none: wait for the " +
          "rest of the deposit. An hour after the expiry they fail, and the deposit is credited " +
          "to the user's balance.";
        return { problems: [{ field: "offramp_id", code: "quote_expired", message }] };
      }
      const message = "The payout was refunded. Its money was credited to the user's balance.";
      const decided = giveUp(facts, entry, message, now);
      if ("problems" in decided) return decided;
      const { change, quote } = decided.value;
      given_up.set(change, { ...decided.value, withdrawn });
      // A later command of the same set must see what is left of the shortfall.
      if (quote && input.problems.length === 0) facts.quotes.set(account_id, quote.id, quote);
      return { value: change };
    },
    record: (tx, changes, { given_up }, now) => {
      const decided = changes.map((change) => given_up.get(change)!);
      recordGiveUps(tx, decided, now);
      const withdrawn = decided.flatMap((one) => one.withdrawn ?? []);
      updatePayouts(
        tx,
        withdrawn.map((payout) => ({ ...payout, status: "rejected", updated_at: now })),
      );
      fundTheRest(tx, changes, now);
    },
  };
}

const WAITS_AFTER_MS = MINUTE_MS;

/**
 * The attempt that is recorded and that no bank has got, if it waits: it says why, or is a minute
 * old. Else it is on its way.
 */
function findUnsent(offramp: Offramp, { payouts }: GiveUpFacts, now: Date): Payout | null {
  const { id, status, status_message } = offramp;
  const last = payouts.get(id)?.at(-1);
  if (status !== "sending_fiat" || last?.status !== "recorded") return null;
  const waits_ms = now.getTime() - last.created_at.getTime();
  return status_message !== null || waits_ms >= WAITS_AFTER_MS ? last : null;
}

/** The deposit may now suffice for the rest of a short quote. */
function fundTheRest(tx: Transaction, changes: readonly ChangedOfframp[], now: Date): void {
  const unfunded = changes.map(({ offramp }) => offramp).filter((offramp) => !offramp.funded_at);
  const quotes = new Map(
    unfunded.map(({ account_id, quote_id: id }) => [id, { account_id, id }] as const),
  );
  enqueueTasks(tx, FUND_QUOTE_TASK, [...quotes.values()], now);
}
