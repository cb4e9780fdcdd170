import type { Chain } from "../catalogue/chains.ts";
import { ENDED_SENDS } from "../partners/chain/evm/send/ended-sends.ts";
import type { Session, Transaction } from "../platform/db/database.ts";

/** A transaction of ours that is final. */
type PaidGas = { key: string; chain: Chain; tx_id: string; gas_cost: bigint };

/** Those whose gas is not booked yet; locked. */
export async function lockUnbookedGas(tx: Transaction, limit: number): Promise<PaidGas[]> {
  const rows = await tx.query<Omit<PaidGas, "gas_cost"> & { gas_cost: string }>(
    `select key, chain, tx_id, gas_cost::text, state, mac from evm_sends
     where gas_cost is not null and not is_gas_booked order by number limit $1 for update`,
    [limit],
  );
  return ENDED_SENDS.vouchedOnly(tx, rows).map((row) => ({
    ...row,
    gas_cost: BigInt(row.gas_cost),
  }));
}

export function updateGasBooked(tx: Transaction, keys: readonly string[]): void {
  tx.write("update evm_sends set is_gas_booked = true where key = any($1::text[])", [keys]);
}

/** What was paid after a block although it is booked, and up to it although it is not, in wei. */
export async function findGasInMotion(
  session: Session,
  chain: Chain,
  block: number,
): Promise<{ booked_after: bigint; unbooked_before: bigint; booked_count: number }> {
  const [row] = await session.query<Record<"after" | "before", string> & { count: number }>(
    `select coalesce(sum(gas_cost) filter (where is_gas_booked and block_number > $2), 0)::text
         as after,
       coalesce(sum(gas_cost) filter (where not is_gas_booked and block_number <= $2), 0)::text
         as before,
       (count(*) filter (where is_gas_booked))::int as count
     from evm_sends where chain = $1 and gas_cost is not null`,
    [chain, block],
  );
  const { after, before, count } = row!;
  return {
    booked_after: BigInt(after),
    unbooked_before: BigInt(before),
    booked_count: count,
  };
}
