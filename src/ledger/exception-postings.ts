import { bankAt, type NewEntry, owedTo, payoutPending } from "./model.ts";
import type { QuoteMoney } from "./offramp-postings.ts";
import type { ReturnTry } from "./onramp-postings.ts";
import { entry } from "./posting-kinds.ts";

type BankReceipt = {
  account_id: string;
  bank_reference: string;
  /** The account of ours in which the bank booked it. */
  bank_account: string | null;
  currency: string;
  amount: bigint;
};

/** What stands in suspense because of a bank's answer that fits no payout. */
export type ExceptionMoney = {
  account_id: string;
  id: string;
  bank_account: string | null;
  currency: string;
  held: bigint;
};

export function suspenseReceived(receipt: BankReceipt): NewEntry {
  const { bank_reference, bank_account, currency, amount } = receipt;
  return entry("suspense_received", receipt, `suspense:${bank_reference}`, [
    [bankAt(bank_account), currency, amount],
    ["suspense", currency, -amount],
  ]);
}

/**
 * The money of an exception is a return of this payout; `source` is the ledger account that it was
 * in before.
 */
export function exceptionAssigned(
  { account_id, id, currency }: ExceptionMoney,
  offramp_id: string,
  amount: bigint,
  source: string,
): NewEntry {
  return entry("exception_assigned", { account_id }, `assign:${offramp_id}:${id}`, [
    [source, currency, amount],
    [payoutPending(offramp_id), currency, -amount],
  ]);
}

/**
 * More of a payout came back after it was refunded: it is given back too. `worth` is its value in
 * the token, `deducted` the part of the quote's shortfall that it pays.
 */
export function exceptionGivenBack(
  { account_id, id, currency, held }: ExceptionMoney,
  offramp: Pick<QuoteMoney, "id" | "user_id" | "deposit_token" | "deposit_token_chain">,
  worth: bigint,
  deducted: bigint,
): NewEntry {
  const { deposit_token: token, user_id, deposit_token_chain } = offramp;
  return entry("exception_given_back", { account_id }, `assign:${offramp.id}:${id}`, [
    ["suspense", currency, held],
    ["fx_position", currency, -held],
    ["fx_position", token, worth],
    ["short_deposits", token, -deducted],
    [owedTo(user_id, deposit_token_chain), token, deducted - worth],
  ]);
}

export function exceptionWrittenOff(exception: ExceptionMoney): NewEntry {
  const { id, currency, held } = exception;
  return entry("exception_written_off", exception, `write_off:${id}`, [
    ["suspense", currency, held],
    ["write_offs", currency, -held],
  ]);
}

export function exceptionLost(exception: Omit<ExceptionMoney, "held">, amount: bigint): NewEntry {
  const { id, currency, bank_account } = exception;
  return entry("exception_lost", exception, `loss:${id}`, [
    ["write_offs", currency, amount],
    [bankAt(bank_account), currency, -amount],
  ]);
}

export function exceptionReturnStarted(exception: ExceptionMoney & ReturnTry): NewEntry {
  const { id, currency, held, returns } = exception;
  return entry("exception_return_started", exception, `exception_return:${id}:${returns}`, [
    ["suspense", currency, held],
    ["return_clearing", currency, -held],
  ]);
}

export function exceptionReturnBooked(exception: ExceptionMoney & ReturnTry): NewEntry {
  const { id, currency, held, returns, bank_account } = exception;
  return entry("exception_return_booked", exception, `exception_return_booked:${id}:${returns}`, [
    ["return_clearing", currency, held],
    [bankAt(bank_account), currency, -held],
  ]);
}

export function exceptionReturnRefused(exception: ExceptionMoney & ReturnTry): NewEntry {
  const { id, currency, held, returns } = exception;
  return entry("exception_return_refused", exception, `exception_return_refused:${id}:${returns}`, [
    ["return_clearing", currency, held],
    ["suspense", currency, -held],
  ]);
}
