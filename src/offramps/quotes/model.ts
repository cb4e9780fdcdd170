import { type Chain, TOKEN_AMOUNT_MAX, type Token } from "../../catalogue/chains.ts";
import type { TransferStatus } from "../../partners/chain/port.ts";
import { HOUR_MS, MINUTE_MS } from "../../platform/durations.ts";
import type { Problem } from "../../platform/errors.ts";
import { minOf } from "../../platform/money.ts";
import type { Offramp } from "../model.ts";

export type Quote = {
  account_id: string;
  id: string;
  user_id: string;
  deposit_token: Token;
  deposit_token_chain: Chain;
  deposit_address: string;
  price_version_id: string;
  expires_at: Date;
  /** Exact totals of its offramps, in millionths of a token. */
  token_amount: bigint;
  token_fees: bigint;
  offramp_count: number;
  executed_at: Date | null;
  tx_id: string | null;
  tx_network: string | null;
  tx_named_at: Date | null;
  /** What the chain last said about the named transfer; null: not checked yet. */
  tx_status: TransferStatus | null;
  /** Deposits to its address in the right token, in millionths. */
  received: bigint;
  /** What `fund` reserved for it from the user's balance while more was missing, in millionths. */
  from_balance: bigint;
  /** What is left of an accepted shortfall, in millionths; deducted from give-backs. */
  shortfall: bigint;
  /**
   * What of its deposits had left the balance by another door when it was executed, in millionths;
   * null until that is known.
   */
  spent_before: bigint | null;
  funded_at: Date | null;
  closed_at: Date | null;
  /** Its offramps wait until this proposal is done. */
  proposal_id: string | null;
  approval_status: "pending" | "done" | "rejected" | "void" | "lapsed" | null;
  created_at: Date;
  updated_at: Date;
};

export const QUOTE_STATUSES = ["open", "executed", "expired", "failed"] as const;
export type QuoteStatus = (typeof QUOTE_STATUSES)[number];

/** Legal transitions; the status is derived from the quote's timestamps and never stored. */
export const QUOTE_MOVES: Readonly<Record<QuoteStatus, readonly QuoteStatus[]>> = {
  open: ["executed", "expired"],
  executed: ["failed"],
  expired: [],
  failed: [],
};

/**
 * A quote is open for `quote_life_minutes` (a setting) after its creation. `failed`: executed, and
 * not paid in time; `close-quote.ts` closes it.
 */
export function quoteStatus(
  quote: Pick<Quote, "executed_at" | "closed_at" | "expires_at">,
  now: Date,
): QuoteStatus {
  if (quote.executed_at) return quote.closed_at ? "failed" : "executed";
  return quote.closed_at || now >= quote.expires_at ? "expired" : "open";
}

const OFFRAMPS_PER_QUOTE_MAX = 5_000;
/** How long after the expiry the rest of a deposit may arrive; then an unpaid quote ends. */
const REST_MS = HOUR_MS;
/** A named transfer that the chain does not find within this time may be replaced. */
export const TRANSFER_NOT_FOUND_MS = 10 * MINUTE_MS;

/** Until when the rest of a deposit that came in time may arrive at the locked rate. */
export function restUntil({ expires_at }: Pick<Quote, "expires_at">): Date {
  return new Date(expires_at.getTime() + REST_MS);
}

/** What it has for its offramps, in millionths. */
export function countedFor({ received, from_balance, spent_before }: Quote): bigint {
  return received + from_balance - (spent_before ?? 0n);
}

/** Whether offramps may still be added; an executed quote is reported as such, even if expired. */
export function additionProblems(quote: Quote, now: Date): Problem[] {
  if (quote.executed_at) {
    const message = "The quote was already executed; create a new quote.";
    return [{ field: "quote_id", code: "quote_already_executed", message }];
  }
  if (now >= quote.expires_at || quote.closed_at) {
    const message = "The quote has expired; create a new quote.";
    return [{ field: "quote_id", code: "quote_expired", message }];
  }
  return [];
}

/** Whether the user's balance may pay for it: until its expiry, while something is missing. */
export function fundingProblems(quote: Quote, now: Date): Problem[] {
  return additionProblems(quote.funded_at ? quote : { ...quote, executed_at: null }, now);
}

/** How much a deposit may be short: at most the setting, and a tenth of the quote's fees. */
export function toleranceOf(quote: Quote, tolerance_max: bigint): bigint {
  return minOf(tolerance_max, quote.token_fees / 10n);
}

/** The quote with the cost of its new offramps added. */
export function withTotals(quote: Quote, offramps: readonly Offramp[], now: Date): Quote {
  let { token_amount, token_fees } = quote;
  for (const offramp of offramps) {
    token_amount += offramp.token_amount;
    token_fees += offramp.token_fee;
  }
  const offramp_count = quote.offramp_count + offramps.length;
  return { ...quote, token_amount, token_fees, offramp_count, updated_at: now };
}

export function totalProblems(quote: Pick<Quote, "offramp_count" | "token_amount">): Problem[] {
  const problems: Problem[] = [];
  const refuse = (message: string) =>
    problems.push({ field: "offramps", code: "record_invalid", message });
  if (quote.offramp_count > OFFRAMPS_PER_QUOTE_MAX) {
    refuse(`A quote can have at most ${OFFRAMPS_PER_QUOTE_MAX} offramps; create another quote.`);
  }
  if (quote.token_amount > TOKEN_AMOUNT_MAX) {
    refuse("The total of a quote must be below 1 000 000 000 tokens; create another quote.");
  }
  return problems;
}
