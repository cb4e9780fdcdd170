import type { TransferStatus } from "../../partners/chain/port.ts";
import type { Problem } from "../../platform/errors.ts";
import { enqueueTasks } from "../../platform/tasks/tasks.ts";
import { ANNOUNCE_TRANSFER_TASK, FUND_QUOTE_TASK } from "../task-kinds.ts";
import { type Quote, TRANSFER_NOT_FOUND_MS } from "./model.ts";
import {
  type PayDeps,
  type PaymentRule,
  paymentUseCase,
  type QuotePayment,
} from "./payment-use-case.ts";
import { listQuotesByTransfer } from "./store.ts";

type Execution = QuotePayment & {
  tx_id: string;
  blockchain: string;
  network: string;
  /** The chain's status of the transfer named before, if it was another one. */
  earlier: { tx_id: string; status: TransferStatus } | null;
};

/** Quotes that already name the transfer, or were paid by it, by command id. */
type SameTransfer = Map<string, { id: string; is_paid: boolean }[]>;

/** Names the transfer that pays a quote. From then on no offramp can be added. */
export function executeQuotes(deps: PayDeps) {
  return paymentUseCase(deps, EXECUTION);
}

const EXECUTION: PaymentRule<Execution, SameTransfer> = {
  name: "execute-quotes",
  rows: 3,
  is_from_balance: false,
  load: async (tx, commands) => {
    const named = await Promise.all(
      commands.map(({ account_id, input: { tx_id, blockchain } }) =>
        // Without an id nothing was checked, so `blockchain` may not be a valid chain either.
        tx_id === "" ? [] : listQuotesByTransfer(tx, account_id, blockchain, tx_id),
      ),
    );
    return new Map(commands.map(({ id }, at) => [id, named[at]!]));
  },
  isRepeated: (quote, { tx_id, blockchain }) =>
    quote.tx_id === tx_id && quote.deposit_token_chain === blockchain,
  problems: ({ quote }, { id, input }, same_transfer, shared, now) => [
    ...input.problems,
    ...chainProblems(quote, input),
    ...stateProblems(quote, input, now),
    ...shared,
    ...(isTaken(quote, same_transfer.get(id)!) ? [transferTaken()] : []),
  ],
  pay: ({ quote }, { tx_id, network }, _same_transfer, now) => ({
    ...quote,
    executed_at: quote.executed_at ?? now,
    tx_id,
    tx_network: network,
    tx_named_at: now,
    tx_status: null,
    updated_at: now,
  }),
  record: (tx, paid, now) => {
    const quotes = paid.map(({ quote }) => quote);
    enqueueTasks(tx, ANNOUNCE_TRANSFER_TASK, quotes, now);
    enqueueTasks(tx, FUND_QUOTE_TASK, quotes, now);
  },
};

function chainProblems(quote: Quote, input: Execution): Problem[] {
  if (input.blockchain === quote.deposit_token_chain || input.blockchain === "") return [];
  const field = "quote.crypto_transfer.blockchain";
  const message = `Send ${quote.deposit_token_chain}, the chain of the quote.`;
  return [{ field, code: "record_invalid", message }];
}

function stateProblems(quote: Quote, input: Execution, now: Date): Problem[] {
  const refuse = (code: Problem["code"], message: string) => [{ field: "quote_id", code, message }];
  // A quote partly funded from the balance names its transfer later, or never.
  const is_named = quote.tx_id !== null || quote.funded_at !== null;
  if (quote.executed_at && is_named && !mayRename(quote, input, now)) {
    return refuse(
      "quote_already_executed",
      "The quote was already executed with another transfer; create a new quote.",
    );
  }
  if (quote.closed_at || (quote.tx_id === null && now >= quote.expires_at)) {
    return refuse("quote_expired", "The quote has expired; create a new one.");
  }
  if (quote.offramp_count === 0) {
    return refuse("no_offramps_present", "Add at least one offramp before executing the quote.");
  }
  return [];
}

/** Another transfer may be named once the first failed, or was not found for ten minutes. */
function mayRename(quote: Quote, { earlier }: Execution, now: Date): boolean {
  if (quote.funded_at || !earlier || earlier.tx_id !== quote.tx_id) return false;
  const waited_ms = now.getTime() - (quote.tx_named_at ?? now).getTime();
  if (earlier.status === "failed") return true;
  return earlier.status === "unknown" && waited_ms >= TRANSFER_NOT_FOUND_MS;
}

/** Named for another quote, or received at another quote's address and not at this one's. */
function isTaken(quote: Quote, same: readonly { id: string; is_paid: boolean }[]): boolean {
  const is_own = same.some(({ id, is_paid }) => id === quote.id && is_paid);
  return same.some(({ id, is_paid }) => id !== quote.id && !(is_paid && is_own));
}

function transferTaken(): Problem {
  const message =
    "This transfer already pays for another quote; send the transfer that pays for this quote.";
  return { field: "quote.crypto_transfer.tx_id", code: "record_not_unique", message };
}
