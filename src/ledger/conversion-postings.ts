import type { NewEntry } from "./model.ts";
import { entry } from "./posting-kinds.ts";

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
