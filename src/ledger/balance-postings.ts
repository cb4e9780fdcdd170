import type { RecordKey } from "../platform/db/rows.ts";
import { type NewEntry, owedTo, refundPending, walletOn } from "./model.ts";
import { entry } from "./posting-kinds.ts";

export type DepositMoney = {
  account_id: string;
  user_id: string;
  chain: string;
  tx_id: string;
  log_index: number;
  token: string;
  amount: bigint;
};
export type RefundMoney = RecordKey & {
  user_id: string;
  token: string;
  chain: string;
  amount: bigint;
  network_fee: bigint;
};

export function depositFinal(deposit: DepositMoney): NewEntry {
  const { chain, tx_id, log_index, token, amount } = deposit;
  return entry("deposit_final", deposit, `deposit:${chain}:${tx_id}:${log_index}`, [
    [walletOn(chain), token, amount],
    [owedTo(deposit.user_id, chain), token, -amount],
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
