import { type NewEntry, walletOn } from "./model.ts";
import { entry } from "./posting-kinds.ts";

type GasMoney = {
  account_id: string;
  chain: string;
  tx_id: string;
  coin: string;
  /** Billionths of the coin. */
  amount: bigint;
};
type OwnTransferMoney = {
  account_id: string;
  chain: string;
  currency: string;
  /** Below zero: it left the wallets. */
  amount: bigint;
  /** The block at which the wallets had it. */
  block: number;
};

export function gasPaid({ chain, tx_id, coin, amount, ...gas }: GasMoney): NewEntry {
  return entry("gas_paid", gas, `gas:${chain}:${tx_id}`, [
    ["network_costs", coin, amount],
    [walletOn(chain), coin, -amount],
  ]);
}

export function ownTransfer(transfer: OwnTransferMoney): NewEntry {
  const { chain, currency, amount, block, ...by } = transfer;
  return entry("own_transfer", by, `own_transfer:${chain}:${currency}:${block}`, [
    [walletOn(chain), currency, amount],
    ["treasury", currency, -amount],
  ]);
}
