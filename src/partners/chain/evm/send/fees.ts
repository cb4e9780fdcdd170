import type { SendingSettings } from "../model.ts";
import type { Fees } from "./attempt-store.ts";

/** Nodes replace a transaction only for at least 10 % more, on both fees. */
const REPLACED_FOR_PERCENT = 110n;
const BUMP_PERCENT = 120n;

/** What the chain asks for now, in wei per unit of gas. */
export type Market = { base_fee: bigint; priority_fee: bigint };

/** The fees of a first attempt; null where the chain asks for more than the limit. */
export function firstFees(market: Market, { max_fee }: SendingSettings): Fees | null {
  if (market.base_fee + market.priority_fee > max_fee) return null;
  return { priority_fee: market.priority_fee, max_fee: smaller(offered(market), max_fee) };
}

/**
 * The fees that replace an attempt: 20 % above the larger of its own and the market's. Null where
 * the limit leaves no room for what nodes accept as a replacement.
 */
export function bumpFees(last: Fees, market: Market, { max_fee }: SendingSettings): Fees | null {
  const priority_fee = raise(larger(last.priority_fee, market.priority_fee));
  const wanted = larger(raise(larger(last.max_fee, offered(market))), priority_fee);
  const fees = { priority_fee: smaller(priority_fee, max_fee), max_fee: smaller(wanted, max_fee) };
  const is_enough =
    fees.max_fee * 100n >= last.max_fee * REPLACED_FOR_PERCENT &&
    fees.priority_fee * 100n >= last.priority_fee * REPLACED_FOR_PERCENT;
  return is_enough ? fees : null;
}

/** Twice the base fee: it rises by an eighth per block at most, so this is enough for five. */
function offered({ base_fee, priority_fee }: Market): bigint {
  return 2n * base_fee + priority_fee;
}

/** Rounded up, and by at least one. */
function raise(fee: bigint): bigint {
  return (fee * BUMP_PERCENT) / 100n + 1n;
}

function larger(a: bigint, b: bigint): bigint {
  return a > b ? a : b;
}

function smaller(a: bigint, b: bigint): bigint {
  return a < b ? a : b;
}
