import { bankAt, type NewEntry } from "./model.ts";
import { entry } from "./posting-kinds.ts";

type BankMoney = {
  account_id: string;
  bank_account: string;
  currency: string;
  /** Below zero: it left the account. */
  amount: bigint;
};
/** `line` is our name of the bank's line. */
type LineMoney = BankMoney & { line: string };

/** Numbered: an earlier statement can come later. */
export function bankOpened(opening: BankMoney & { number: number }): NewEntry {
  const { bank_account, currency, amount, number, ...by } = opening;
  return entry("bank_opened", by, `opening:${bank_account}:${currency}:${number}`, [
    [bankAt(bank_account), currency, amount],
    ["treasury", currency, -amount],
  ]);
}

export function bankTransfer({ bank_account, currency, amount, line, ...by }: LineMoney): NewEntry {
  return entry("bank_transfer", by, `bank_line:${bank_account}:${line}`, [
    [bankAt(bank_account), currency, amount],
    ["treasury", currency, -amount],
  ]);
}

/** A fee, or interest that the bank pays. */
export function bankFee({ bank_account, currency, amount, line, ...by }: LineMoney): NewEntry {
  return entry("bank_fee", by, `bank_line:${bank_account}:${line}`, [
    [bankAt(bank_account), currency, amount],
    ["bank_costs", currency, -amount],
  ]);
}

type KeptMoney = { account_id: string; id: string; currency: string; amount: bigint };

/** A credit that was the operator's own money. */
export function fiatDepositKept({ id, currency, amount, ...by }: KeptMoney): NewEntry {
  return entry("fiat_deposit_kept", by, `fiat_kept:${id}`, [
    ["suspense", currency, amount],
    ["treasury", currency, -amount],
  ]);
}
