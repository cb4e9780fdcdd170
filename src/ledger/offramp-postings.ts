import type { RecordKey } from "../platform/db/rows.ts";
import { minOf } from "../platform/money.ts";
import { bankAt, type NewEntry, owedTo, payoutPending } from "./model.ts";
import { entry, type Line } from "./posting-kinds.ts";

export type QuoteMoney = RecordKey & {
  user_id: string;
  deposit_token: string;
  deposit_token_chain: string;
  token_amount: bigint;
};
export type OfframpMoney = QuoteMoney & {
  destination_currency: string;
  destination_amount: bigint;
  fee: bigint;
};
/** `used` is the part paid from `owed`; at most the quote's amount. */
export function quoteFunded(quote: QuoteMoney, used: bigint): NewEntry {
  const { deposit_token: token, token_amount: total } = quote;
  return entry("quote_funded", quote, `fund:${quote.id}`, [
    [owedTo(quote.user_id, quote.deposit_token_chain), token, used],
    ["short_deposits", token, total - used],
    ["deposit_clearing", token, -total],
  ]);
}

export function offrampFunded(offramp: OfframpMoney): NewEntry {
  const { deposit_token: token, token_amount } = offramp;
  return entry("offramp_funded", offramp, `fund:${offramp.id}`, [
    ["deposit_clearing", token, token_amount],
    [payoutPending(offramp.id), token, -token_amount],
  ]);
}

export function payoutInstructed(offramp: OfframpMoney): NewEntry {
  const { deposit_token: token, token_amount } = offramp;
  return entry("payout_instructed", offramp, `instruct:${offramp.id}`, [
    [payoutPending(offramp.id), token, token_amount],
    ...convertedLines(offramp),
  ]);
}

/** Both at once, for an offramp whose gates are open when it is funded. */
export function payoutFunded(offramp: OfframpMoney): NewEntry {
  const { deposit_token: token, token_amount } = offramp;
  return entry("payout_funded", offramp, offrampFunded(offramp).key, [
    ["deposit_clearing", token, token_amount],
    ...convertedLines(offramp),
  ]);
}

/** The tokens become the payout and its fee. */
function convertedLines(offramp: OfframpMoney): Line[] {
  const { deposit_token: token, token_amount, destination_currency: currency } = offramp;
  return [
    ["fx_position", token, -token_amount],
    ["fx_position", currency, offramp.destination_amount + offramp.fee],
    [payoutPending(offramp.id), currency, -offramp.destination_amount],
    ["fees", currency, -offramp.fee],
  ];
}

/** `bank_account` is the account of ours that paid it. */
export function payoutBooked(
  offramp: OfframpMoney,
  attempt: number,
  bank_account: string | null,
): NewEntry {
  const { destination_currency: currency, destination_amount } = offramp;
  return entry("payout_booked", offramp, `book:${offramp.id}:${attempt}`, [
    [payoutPending(offramp.id), currency, destination_amount],
    [bankAt(bank_account), currency, -destination_amount],
  ]);
}

/** What came back is pending again; more than was paid belongs to nobody yet. */
export function payoutReturned(
  offramp: OfframpMoney,
  attempt: number,
  returned: bigint,
  returned_to: string | null,
): NewEntry {
  const { destination_currency: currency, destination_amount } = offramp;
  const credited = minOf(returned, destination_amount);
  return entry("payout_returned", offramp, `return:${offramp.id}:${attempt}`, [
    [bankAt(returned_to), currency, returned],
    ["suspense", currency, credited - returned],
    [payoutPending(offramp.id), currency, -credited],
  ]);
}

/** A re-route pays in full: `missing` is what the bank kept of the return. */
export function payoutRerouted(offramp: OfframpMoney, attempt: number, missing: bigint): NewEntry {
  const { destination_currency: currency } = offramp;
  return entry("payout_rerouted", offramp, `reroute:${offramp.id}:${attempt}`, [
    ["return_costs", currency, missing],
    [payoutPending(offramp.id), currency, -missing],
  ]);
}

/** `deducted` is the part of the quote's shortfall that this give-back pays. */
export function offrampFailedBeforeInstruction(offramp: OfframpMoney, deducted: bigint): NewEntry {
  const { deposit_token: token, token_amount } = offramp;
  return entry("offramp_failed_before_instruction", offramp, `giveback:${offramp.id}`, [
    [payoutPending(offramp.id), token, token_amount],
    ["short_deposits", token, -deducted],
    [owedTo(offramp.user_id, offramp.deposit_token_chain), token, deducted - token_amount],
  ]);
}

/** No money had left: the instruction is reversed, fee included. */
export function offrampFailedAfterInstruction(offramp: OfframpMoney, deducted: bigint): NewEntry {
  const { deposit_token: token, token_amount, destination_currency: currency } = offramp;
  return entry("offramp_failed_after_instruction", offramp, `giveback:${offramp.id}`, [
    [payoutPending(offramp.id), currency, offramp.destination_amount],
    ["fees", currency, offramp.fee],
    ["fx_position", currency, -(offramp.destination_amount + offramp.fee)],
    ["fx_position", token, token_amount],
    ["short_deposits", token, -deducted],
    [owedTo(offramp.user_id, offramp.deposit_token_chain), token, deducted - token_amount],
  ]);
}

/** What came back of a payout, and what it is worth in millionths of the token. */
type Return = {
  /** What the offramp still has to pay: more than came back if a re-route had added the rest. */
  pending: bigint;
  returned: bigint;
  worth: bigint;
};

/** Money had left: what came back is given back, and the fee stays earned. */
export function offrampFailedAfterReturn(
  offramp: OfframpMoney,
  { pending, returned, worth }: Return,
  deducted: bigint,
): NewEntry {
  const { deposit_token: token, destination_currency: currency } = offramp;
  return entry("offramp_failed_after_return", offramp, `giveback:${offramp.id}`, [
    [payoutPending(offramp.id), currency, pending],
    ["return_costs", currency, returned - pending],
    ["fx_position", currency, -returned],
    ["fx_position", token, worth],
    ["short_deposits", token, -deducted],
    [owedTo(offramp.user_id, offramp.deposit_token_chain), token, deducted - worth],
  ]);
}
