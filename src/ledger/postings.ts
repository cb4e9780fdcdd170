import { minOf } from "../platform/money.ts";
import {
  type NewEntry,
  onrampAccount,
  owedTo,
  payoutPending,
  refundPending,
  walletOn,
} from "./model.ts";
import { entry } from "./posting-entry.ts";
import type { PostingKind } from "./posting-table.ts";

type Id = { account_id: string; id: string };
export type DepositMoney = {
  account_id: string;
  user_id: string;
  chain: string;
  tx_id: string;
  log_index: number;
  token: string;
  amount: bigint;
};
export type QuoteMoney = Id & {
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
export type RefundMoney = Id & {
  user_id: string;
  token: string;
  chain: string;
  amount: bigint;
  network_fee: bigint;
};
export type BankReceipt = {
  account_id: string;
  bank_reference: string;
  currency: string;
  amount: bigint;
};

/** `bank_account` is `wallet:<chain>` for tokens that no user was credited with. */
export type FiatDepositMoney = Id & { bank_account: string; currency: string; amount: bigint };
export type OnrampMoney = Id & {
  crypto_currency: string;
  crypto_rails: string;
  destination_amount: bigint;
  fiat_currency: string;
  deposit_amount: bigint;
  fee: bigint;
};

export function depositFinal(deposit: DepositMoney): NewEntry {
  const { chain, tx_id, log_index, token, amount } = deposit;
  return entry("deposit_final", deposit, `deposit:${chain}:${tx_id}:${log_index}`, [
    [walletOn(chain), token, amount],
    [owedTo(deposit.user_id, chain), token, -amount],
  ]);
}

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
  const { deposit_token: token, token_amount, destination_currency: currency } = offramp;
  return entry("payout_instructed", offramp, `instruct:${offramp.id}`, [
    [payoutPending(offramp.id), token, token_amount],
    ["fx_position", token, -token_amount],
    ["fx_position", currency, offramp.destination_amount + offramp.fee],
    [payoutPending(offramp.id), currency, -offramp.destination_amount],
    ["fees", currency, -offramp.fee],
  ]);
}

export function payoutBooked(offramp: OfframpMoney, attempt: number): NewEntry {
  const { destination_currency: currency, destination_amount } = offramp;
  return entry("payout_booked", offramp, `book:${offramp.id}:${attempt}`, [
    [payoutPending(offramp.id), currency, destination_amount],
    ["bank", currency, -destination_amount],
  ]);
}

/** What came back is pending again; more than was paid belongs to nobody yet. */
export function payoutReturned(offramp: OfframpMoney, attempt: number, returned: bigint): NewEntry {
  const { destination_currency: currency, destination_amount } = offramp;
  const credited = minOf(returned, destination_amount);
  return entry("payout_returned", offramp, `return:${offramp.id}:${attempt}`, [
    ["bank", currency, returned],
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
export type Return = {
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

export function refundStarted(refund: RefundMoney): NewEntry {
  return entry("refund_started", refund, `refund:${refund.id}`, [
    [owedTo(refund.user_id, refund.chain), refund.token, refund.amount],
    [refundPending(refund.id), refund.token, -refund.amount],
  ]);
}

export function refundSent(refund: RefundMoney): NewEntry {
  return entry("refund_sent", refund, `refund_sent:${refund.id}`, [
    [refundPending(refund.id), refund.token, refund.amount],
    ["fees", refund.token, -refund.network_fee],
    [walletOn(refund.chain), refund.token, -(refund.amount - refund.network_fee)],
  ]);
}

export function refundFailed(refund: RefundMoney): NewEntry {
  return entry("refund_failed", refund, `refund_failed:${refund.id}`, [
    [refundPending(refund.id), refund.token, refund.amount],
    [owedTo(refund.user_id, refund.chain), refund.token, -refund.amount],
  ]);
}

export function suspenseReceived(receipt: BankReceipt): NewEntry {
  const { bank_reference, currency, amount } = receipt;
  return entry("suspense_received", receipt, `suspense:${bank_reference}`, [
    ["bank", currency, amount],
    ["suspense", currency, -amount],
  ]);
}

/**
 * How often the return of a deposit was attempted: after a failure the deposit can be used again.
 */
export type ReturnTry = { returns: number };

export function fiatDepositReceived(deposit: FiatDepositMoney): NewEntry {
  return fiatMove("fiat_deposit_received", deposit, `fiat_deposit:${deposit.id}`, {
    debit: "bank",
    credit: "suspense",
  });
}

export function fiatDepositWithdrawn(deposit: FiatDepositMoney): NewEntry {
  const key = `fiat_withdrawn:${deposit.id}`;
  return fiatMove("fiat_deposit_withdrawn", deposit, key, { debit: "suspense", credit: "bank" });
}

export function fiatDepositMatched(deposit: FiatDepositMoney & ReturnTry): NewEntry {
  const key = `fiat_matched:${deposit.id}:${deposit.returns}`;
  return fiatMove("fiat_deposit_matched", deposit, key, { debit: "suspense", credit: "bank" });
}

export function fiatDepositReleased(deposit: FiatDepositMoney & ReturnTry): NewEntry {
  const key = `fiat_released:${deposit.id}:${deposit.returns}`;
  return fiatMove("fiat_deposit_released", deposit, key, { debit: "bank", credit: "suspense" });
}

export function fiatReturnStarted(deposit: FiatDepositMoney & ReturnTry): NewEntry {
  const key = `fiat_return:${deposit.id}:${deposit.returns}`;
  const accounts = { debit: "suspense", credit: "return_clearing" };
  return fiatMove("fiat_return_started", deposit, key, accounts);
}

export function fiatReturnBooked(deposit: FiatDepositMoney & ReturnTry): NewEntry {
  const key = `fiat_return_booked:${deposit.id}:${deposit.returns}`;
  const accounts = { debit: "return_clearing", credit: "bank" };
  return fiatMove("fiat_return_booked", deposit, key, accounts);
}

export function fiatReturnRefused(deposit: FiatDepositMoney & ReturnTry): NewEntry {
  const key = `fiat_return_refused:${deposit.id}:${deposit.returns}`;
  const accounts = { debit: "return_clearing", credit: "suspense" };
  return fiatMove("fiat_return_refused", deposit, key, accounts);
}

/** `received` is the part of the deposit that is used; at most the onramp's deposit amount. */
export function onrampFunded(onramp: OnrampMoney, received: bigint): NewEntry {
  const { fiat_currency: currency, deposit_amount } = onramp;
  return entry("onramp_funded", onramp, `onramp_fund:${onramp.id}`, [
    ["bank", currency, received],
    ["short_deposits", currency, deposit_amount - received],
    [onrampAccount(onramp.id), currency, -deposit_amount],
  ]);
}

export function onrampConverted(onramp: OnrampMoney): NewEntry {
  const { fiat_currency: currency, crypto_currency: token } = onramp;
  return entry("onramp_converted", onramp, `onramp_convert:${onramp.id}`, [
    [onrampAccount(onramp.id), currency, onramp.deposit_amount],
    ["fees", currency, -onramp.fee],
    ["fx_position", currency, -(onramp.deposit_amount - onramp.fee)],
    ["fx_position", token, onramp.destination_amount],
    [onrampAccount(onramp.id), token, -onramp.destination_amount],
  ]);
}

export function onrampDelivered(onramp: OnrampMoney): NewEntry {
  const { crypto_currency: token, destination_amount } = onramp;
  return entry("onramp_delivered", onramp, `onramp_deliver:${onramp.id}`, [
    [onrampAccount(onramp.id), token, destination_amount],
    [walletOn(onramp.crypto_rails), token, -destination_amount],
  ]);
}

/** Reverses the conversion: the onramp has its fiat again. */
export function onrampRefused(onramp: OnrampMoney): NewEntry {
  const { fiat_currency: currency, crypto_currency: token } = onramp;
  return entry("onramp_refused", onramp, `onramp_refuse:${onramp.id}`, [
    [onrampAccount(onramp.id), token, onramp.destination_amount],
    ["fx_position", token, -onramp.destination_amount],
    ["fx_position", currency, onramp.deposit_amount - onramp.fee],
    ["fees", currency, onramp.fee],
    [onrampAccount(onramp.id), currency, -onramp.deposit_amount],
  ]);
}

export function onrampGivenBack(onramp: OnrampMoney, received: bigint): NewEntry {
  const { fiat_currency: currency, deposit_amount } = onramp;
  return entry("onramp_given_back", onramp, `onramp_giveback:${onramp.id}`, [
    [onrampAccount(onramp.id), currency, deposit_amount],
    ["bank", currency, -received],
    ["short_deposits", currency, -(deposit_amount - received)],
  ]);
}

/** An amount in minor units of a currency or token. */
type Amount = { currency: string; amount: bigint };
export type ConversionMoney = {
  account_id: string;
  reference: string;
  bought: Amount;
  sold: Amount;
};

export function treasuryConverted({ bought, sold, ...conversion }: ConversionMoney): NewEntry {
  return entry("treasury_converted", conversion, `convert:${conversion.reference}`, [
    ["treasury", bought.currency, bought.amount],
    ["fx_position", bought.currency, -bought.amount],
    ["treasury", sold.currency, -sold.amount],
    ["fx_position", sold.currency, sold.amount],
  ]);
}

function fiatMove(
  kind: PostingKind,
  deposit: FiatDepositMoney,
  key: string,
  { debit, credit }: { debit: string; credit: string },
): NewEntry {
  const { bank_account, currency, amount } = deposit;
  const held = bank_account.startsWith("wallet:") ? bank_account : "bank";
  const named = (account: string) => (account === "bank" ? held : account);
  return entry(kind, deposit, key, [
    [named(debit), currency, amount],
    [named(credit), currency, -amount],
  ]);
}
