import { type Deposit, listQuoteDeposits } from "../../balances/deposit-store.ts";
import { owedTo } from "../../ledger/model.ts";
import { postEntries } from "../../ledger/post.ts";
import { quoteFunded } from "../../ledger/postings.ts";
import { findBalances } from "../../ledger/store.ts";
import type { Session, Transaction } from "../../platform/db/database.ts";
import { minOf } from "../../platform/money.ts";
import { enqueueTasks, taskNow } from "../../platform/tasks/tasks.ts";
import { lockUsers } from "../../users/store.ts";
import { findAbandoned } from "../store.ts";
import { FUND_OFFRAMPS_TASK } from "../task-kinds.ts";
import { isLateDeposit } from "./late-deposit.ts";
import { type Quote, toleranceOf } from "./model.ts";
import { lockQuotes, type QuoteKey, updateProgress } from "./store.ts";

type Funding =
  | { decision: "nothing" }
  | { decision: "short" }
  | { decision: "fund"; used: bigint; hold: Quote["hold"] };

/**
 * Decides what to do for a quote that was executed or received a deposit. `owed` is the user's
 * balance in the quote's token and chain: a deposit that was spent elsewhere funds nothing.
 */
function decideFunding(
  quote: Quote,
  deposits: readonly Deposit[],
  owed: bigint,
  tolerance_max: bigint,
): Funding {
  const counted = quote.received + quote.from_balance;
  if (!quote.executed_at || quote.funded_at || quote.closed_at || counted === 0n) {
    return { decision: "nothing" };
  }
  if (quote.token_amount === 0n) return { decision: "nothing" };
  const available = minOf(counted, owed);
  const enough = quote.token_amount - toleranceOf(quote, tolerance_max);
  if (available < enough) return { decision: "short" };
  const used = minOf(available, quote.token_amount);
  return {
    decision: "fund",
    used,
    hold: isLateDeposit(quote, deposits, enough) ? "late_deposit" : null,
  };
}

/**
 * The quote with the totals still to be paid. Offramps given up while the deposit was short are
 * left out; giving up locks the quote too, so this cannot change under its lock.
 */
export async function withoutAbandoned(session: Session, quote: Quote): Promise<Quote> {
  const abandoned = await findAbandoned(session, quote);
  return {
    ...quote,
    token_amount: quote.token_amount - abandoned.token_amount,
    token_fees: quote.token_fees - abandoned.token_fees,
  };
}

/** Reserves the user's balance for this quote; its offramps follow in chunks. */
export async function fundQuote(
  tx: Transaction,
  { deposit_tolerance }: { deposit_tolerance: bigint },
  key: QuoteKey & { user_id: string },
  now: Date,
): Promise<void> {
  const { account_id, id, user_id } = key;
  // Every operation that lowers `owed` locks the user first.
  await lockUsers(tx, [{ account_id, user_id }]);
  const [locked] = await lockQuotes(tx, [{ account_id, id }]);
  if (!locked) return;
  const quote = await withoutAbandoned(tx, locked);
  const { deposit_token: currency, deposit_token_chain: chain } = quote;
  const owed_key = { account_id, ledger_account: owedTo(user_id, chain), currency };
  const [deposits, balances] = await Promise.all([
    listQuoteDeposits(tx, account_id, id, quote.deposit_token),
    findBalances(tx, [owed_key]),
  ]);
  const funding = decideFunding(quote, deposits, balances.get(owed_key), deposit_tolerance);
  if (funding.decision === "nothing") return;
  if (funding.decision === "fund") {
    updateProgress(tx, { ...quote, funded_at: now, hold: funding.hold, updated_at: now });
    postEntries(tx, [quoteFunded(quote, funding.used)], now);
  }
  enqueueTasks(tx, [taskNow(FUND_OFFRAMPS_TASK, { account_id, id }, now)]);
}
