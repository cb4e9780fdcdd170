import type { Deposit } from "../../balances/deposit-store.ts";
import { type Quote, TOP_UP_MS } from "./model.ts";

/**
 * Whether the deposits of an executed quote came too late for its locked rate. It applies to a
 * transfer mined before the expiry, and to a top-up within a day. Only deposits that were needed
 * count, not those after the amount was reached. A late quote is held (`hold: "late_deposit"`), and
 * `gates.ts` keeps its offramps from being paid until they are refunded. A deposit to a quote that
 * was not executed, or is closed, stays in the user's balance.
 */
export function isLateDeposit(quote: Quote, deposits: readonly Deposit[], enough: bigint): boolean {
  // The part from the balance was taken before the expiry.
  const began_at = quote.from_balance > 0n ? quote.executed_at : deposits[0]?.mined_at;
  if (!began_at || began_at > quote.expires_at) return true;
  const top_up_until = new Date(began_at.getTime() + TOP_UP_MS);
  const in_time = deposits.filter((deposit) => deposit.mined_at <= top_up_until);
  const sum = in_time.reduce((total, deposit) => total + deposit.amount, quote.from_balance);
  return sum < enough;
}
