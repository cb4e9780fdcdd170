import { COIN_DIGITS, NATIVE_COINS } from "../catalogue/chains.ts";
import { gasPaid } from "../ledger/chain-postings.ts";
import { postEntries } from "../ledger/post-entries.ts";
import type { Database } from "../platform/db/database.ts";
import { powerOfTen } from "../platform/money.ts";
import { lockUnbookedGas, updateGasBooked } from "./gas-store.ts";

const BOOKED_AT_ONCE = 100;
const WEI_PER_UNIT = powerOfTen(18 - COIN_DIGITS);

/** Books the gas of final transactions in the operator's account. */
export async function bookGas(database: Database, operator_id: string, now: Date): Promise<number> {
  return database.transaction(async (tx) => {
    const paid = await lockUnbookedGas(tx, BOOKED_AT_ONCE);
    const entries = paid.map(({ chain, tx_id, gas_cost }) =>
      gasPaid({
        ...{ account_id: operator_id, chain, tx_id, coin: NATIVE_COINS[chain] },
        amount: roundUp(gas_cost),
      }),
    );
    // A transaction without a price, as on a test network, is booked without an entry.
    const posted = entries.filter(({ lines }) => lines.length > 0);
    postEntries(tx, posted, now);
    if (paid.length > 0) {
      updateGasBooked(
        tx,
        paid.map(({ key }) => key),
      );
    }
    return paid.length;
  });
}

/** Wei to billionths of a coin: at most one too many for each transaction. */
export function roundUp(wei: bigint): bigint {
  return (wei + WEI_PER_UNIT - 1n) / WEI_PER_UNIT;
}
