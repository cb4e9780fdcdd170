import type { RecordKey } from "../platform/db/rows.ts";
import { type NewEntry, onrampAccount, walletOn } from "./model.ts";
import { entry, type PostingKind } from "./posting-kinds.ts";

type FiatDepositMoney = RecordKey & {
  bank_account: string;
  /**
   * Where its money is: `bank:<account>`, or `wallet:<chain>` for tokens that no user was credited
   * with. Null if it was recorded before each bank account had its own ledger account.
   */
  ledger_account: string | null;
  currency: string;
  amount: bigint;
};
type OnrampMoney = RecordKey & {
  crypto_currency: string;
  crypto_rails: string;
  destination_amount: bigint;
  fiat_currency: string;
  deposit_amount: bigint;
  fee: bigint;
  /** The ledger account that its deposit is in; null as in deposits, and until it is paid. */
  deposit_account: string | null;
};

/**
 * How often the return of a deposit was attempted: after a failure the deposit can be used again.
 */
export type ReturnTry = { returns: number };

/** The ledger account that a deposit's money is in. */
export function heldIn({ bank_account, ledger_account }: DepositPlace): string {
  return ledger_account ?? (bank_account.startsWith("wallet:") ? bank_account : "bank");
}

type DepositPlace = Pick<FiatDepositMoney, "bank_account" | "ledger_account">;

export function fiatDepositReceived(deposit: FiatDepositMoney): NewEntry {
  return fiatMove("fiat_deposit_received", deposit, `fiat_deposit:${deposit.id}`, {
    debit: heldIn(deposit),
    credit: "suspense",
  });
}

export function fiatDepositWithdrawn(deposit: FiatDepositMoney): NewEntry {
  const key = `fiat_withdrawn:${deposit.id}`;
  return fiatMove("fiat_deposit_withdrawn", deposit, key, {
    debit: "suspense",
    credit: heldIn(deposit),
  });
}

export function fiatDepositMatched(deposit: FiatDepositMoney & ReturnTry): NewEntry {
  const key = `fiat_matched:${deposit.id}:${deposit.returns}`;
  return fiatMove("fiat_deposit_matched", deposit, key, {
    debit: "suspense",
    credit: heldIn(deposit),
  });
}

export function fiatDepositReleased(deposit: FiatDepositMoney & ReturnTry): NewEntry {
  const key = `fiat_released:${deposit.id}:${deposit.returns}`;
  return fiatMove("fiat_deposit_released", deposit, key, {
    debit: heldIn(deposit),
    credit: "suspense",
  });
}

export function fiatReturnStarted(deposit: FiatDepositMoney & ReturnTry): NewEntry {
  const key = `fiat_return:${deposit.id}:${deposit.returns}`;
  const accounts = { debit: "suspense", credit: "return_clearing" };
  return fiatMove("fiat_return_started", deposit, key, accounts);
}

export function fiatReturnBooked(deposit: FiatDepositMoney & ReturnTry): NewEntry {
  const key = `fiat_return_booked:${deposit.id}:${deposit.returns}`;
  const accounts = { debit: "return_clearing", credit: heldIn(deposit) };
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
    [onramp.deposit_account ?? "bank", currency, received],
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
    [onramp.deposit_account ?? "bank", currency, -received],
    ["short_deposits", currency, -(deposit_amount - received)],
  ]);
}

function fiatMove(
  kind: PostingKind,
  deposit: FiatDepositMoney,
  key: string,
  { debit, credit }: { debit: string; credit: string },
): NewEntry {
  const { currency, amount } = deposit;
  return entry(kind, deposit, key, [
    [debit, currency, amount],
    [credit, currency, -amount],
  ]);
}
