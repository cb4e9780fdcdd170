import {
  type DepositSums,
  findDepositSums,
  listQuoteDeposits,
} from "../../balances/deposit-store.ts";
import { findReservations } from "../../balances/reservation-store.ts";
import { owedTo } from "../../ledger/model.ts";
import { quoteFunded } from "../../ledger/offramp-postings.ts";
import { postEntries } from "../../ledger/post-entries.ts";
import { findBalances } from "../../ledger/store.ts";
import type { Session, Transaction } from "../../platform/db/database.ts";
import type { RecordKey } from "../../platform/db/rows.ts";
import { minOf } from "../../platform/money.ts";
import { UnvouchedRowError } from "../../platform/sealing/vouched-rows.ts";
import { enqueueTasks } from "../../platform/tasks/tasks.ts";
import { lockUsers } from "../../users/store.ts";
import { findOfframpTotals } from "../store.ts";
import { FUND_OFFRAMPS_TASK } from "../task-kinds.ts";
import { type LatePayeeDeps, proposeLatePayees } from "./late-payees.ts";
import { countedFor, type Quote, restUntil, toleranceOf } from "./model.ts";
import { lockQuotes, updateProgress } from "./store.ts";

export type FundingRules = {
  /** How many millionths of a token a deposit may be short. */
  deposit_tolerance: bigint;
  /** How much of a deposit must be mined before the expiry. */
  deposit_in_time_percent: number;
};

/** `used`: what it takes of the balance. */
type Funding = { decision: "nothing" } | { decision: "short" } | { decision: "fund"; used: bigint };

/**
 * Decides what to do for a quote that was executed or received a deposit. The locked rate applies
 * when most of the deposit was mined before the expiry and the rest within an hour after it; what
 * comes later stays owed. `owed` is the user's balance in the quote's token: a deposit that was
 * spent elsewhere funds nothing.
 */
function decideFunding(
  quote: Quote,
  deposited: DepositSums,
  owed: bigint,
  rules: FundingRules,
): Funding {
  if (!quote.executed_at || quote.funded_at || quote.closed_at || quote.token_amount === 0n) {
    return { decision: "nothing" };
  }
  if (countedFor(quote) === 0n) return { decision: "nothing" };
  // The part from the balance was taken before the expiry.
  const had = quote.from_balance - (quote.spent_before ?? 0n);
  const is_in_time =
    (had + deposited.in_time) * 100n >= quote.token_amount * BigInt(rules.deposit_in_time_percent);
  const available = minOf(had + deposited.in_all, owed);
  const enough = quote.token_amount - toleranceOf(quote, rules.deposit_tolerance);
  if (!is_in_time || available < enough) return { decision: "short" };
  return { decision: "fund", used: minOf(available, quote.token_amount) };
}

/**
 * The same from the database. Anybody can send dust, and each transfer leads here: what all of them
 * together cannot pay is seen in the quote, what came too late in their sums. Their MACs are
 * checked when they fund the quote, and before a quote ends whose sums do not.
 */
async function findFunding(
  tx: Transaction,
  quote: Quote,
  owed: bigint,
  rules: FundingRules,
  is_ending: boolean,
): Promise<Funding> {
  const decide = (deposited: DepositSums) => decideFunding(quote, deposited, owed, rules);
  const { received, deposit_token, expires_at } = quote;
  const at_best = decide({ in_time: received, in_all: received });
  if (at_best.decision !== "fund") return at_best;
  const times = { in_time: expires_at, in_all: restUntil(quote) };
  const likely = decide(await findDepositSums(tx, quote, deposit_token, times));
  if (likely.decision !== "fund" && !is_ending) return likely;
  const found: DepositSums = { in_time: 0n, in_all: 0n };
  for await (const deposits of listQuoteDeposits(tx, quote.account_id, quote.id, deposit_token)) {
    for (const { mined_at, amount } of deposits) {
      if (mined_at <= times.in_time) found.in_time += amount;
      if (mined_at <= times.in_all) found.in_all += amount;
    }
  }
  return decide(found);
}

/**
 * What of a quote's deposits had left the balance when it was executed: from then on they are
 * reserved. Coins that come later must not count as if they had come in time.
 */
async function spentBefore(tx: Transaction, quote: Quote, owed: bigint): Promise<bigint> {
  if (quote.spent_before !== null) return quote.spent_before;
  const { account_id, user_id, id } = quote;
  const reservations = await findReservations(tx, [{ account_id, user_id }], [id]);
  const free = owed - reservations.sumBeside(quote);
  const spent = quote.received + quote.from_balance - (free > 0n ? free : 0n);
  return spent > 0n ? spent : 0n;
}

/**
 * The quote with the totals still to be paid. Offramps given up while the deposit was short are
 * left out; giving up locks the quote too, so this cannot change under its lock.
 */
export async function withoutAbandoned(session: Session, quote: Quote): Promise<Quote> {
  const { all, abandoned } = await findOfframpTotals(session, quote);
  assertTotals(quote, all);
  return {
    ...quote,
    token_amount: quote.token_amount - abandoned.token_amount,
    token_fees: quote.token_fees - abandoned.token_fees,
  };
}

/** Fails unless its offramps have these totals, too. */
export function assertTotals(quote: Quote, all: Pick<Quote, "token_amount" | "token_fees">): void {
  if (all.token_amount === quote.token_amount && all.token_fees === quote.token_fees) return;
  throw new UnvouchedRowError(`the totals of quote ${quote.id} are not those of its offramps`);
}

/**
 * Reserves the user's balance for this quote, if it is enough; its offramps follow in chunks.
 * `is_ending`: the quote ends if it is not. Returns the decision, and whether it was noted what of
 * the deposits had left.
 */
export async function fundFromDeposits(
  tx: Transaction,
  rules: FundingRules & LatePayeeDeps,
  key: RecordKey & { user_id: string },
  now: Date,
  is_ending = false,
): Promise<{ decision: Funding["decision"]; is_noted: boolean }> {
  const { account_id, id, user_id } = key;
  // Every operation that lowers `owed` locks the user first.
  await lockUsers(tx, [{ account_id, user_id }]);
  const [locked] = await lockQuotes(tx, [{ account_id, id }]);
  if (!locked) return { decision: "nothing", is_noted: false };
  const due = await withoutAbandoned(tx, locked);
  const owed_key = owedKey(due);
  const owed = (await findBalances(tx, [owed_key])).get(owed_key);
  const spent_before = due.executed_at ? await spentBefore(tx, due, owed) : null;
  const quote = { ...due, spent_before };
  const funding = await findFunding(tx, quote, owed, rules, is_ending);
  const is_noted = locked.spent_before === null && (funding.decision === "short" || isSpent(quote));
  if (funding.decision === "fund") {
    const shortfall = quote.token_amount - funding.used;
    const held = await proposeLatePayees(tx, rules, quote, now);
    updateProgress(tx, { ...held, funded_at: now, shortfall, updated_at: now });
    postEntries(tx, [quoteFunded(quote, funding.used)], now);
    enqueueTasks(tx, FUND_OFFRAMPS_TASK, [quote], now);
  } else if (is_noted) {
    updateProgress(tx, { ...quote, updated_at: now });
  }
  return { decision: funding.decision, is_noted };
}

/** Executed, and some of its deposits had left by then: kept, even if nothing is left of them. */
function isSpent({ spent_before, funded_at, closed_at }: Quote): boolean {
  return spent_before !== null && spent_before > 0n && !funded_at && !closed_at;
}

/** The balance that pays for a quote. */
export function owedKey({ account_id, user_id, deposit_token, deposit_token_chain }: Quote) {
  const ledger_account = owedTo(user_id, deposit_token_chain);
  return { account_id, ledger_account, currency: deposit_token };
}
