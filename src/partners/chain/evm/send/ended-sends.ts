import type { MacBearer } from "../../../../platform/sealing/row-mac.ts";
import { vouchedTable } from "../../../../platform/sealing/vouched-rows.ts";

const ENDS = ["final", "refused"];

/**
 * What became of a send decides whether its record was paid or owes the money again. So the row
 * carries a MAC as soon as it has ended; before, nothing is concluded from its state but that it
 * has to be looked for on the chain.
 */
export const ENDED_SENDS = vouchedTable("evm_sends", ["key"], ["state", "tx_id", "gas_cost"], {
  only: `state in ('${ENDS.join("', '")}')`,
});

/** The MAC of a send that ends like this. */
export function endOf(
  session: MacBearer,
  {
    key,
    state,
    tx_id,
    gas_cost,
  }: { key: string; state: string } & {
    tx_id: string | null;
    gas_cost: bigint | null;
  },
): Buffer {
  return ENDED_SENDS.withMacs(session, [{ key, state, tx_id, gas_cost }])[0]!.mac;
}

/** The MAC of a send that ends without a transaction. */
export function refusalOf(session: MacBearer, key: string): Buffer {
  return endOf(session, { key, state: "refused", tx_id: null, gas_cost: null });
}

/** The row, or an error if somebody else has ended it. */
export function assertEnded<Row extends { state: string }>(session: MacBearer, row: Row): Row {
  if (ENDS.includes(row.state)) ENDED_SENDS.assertVouched(session, [row]);
  return row;
}
