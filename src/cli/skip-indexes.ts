import { recordAudit } from "../accounts/audit.ts";
import { findOperator } from "../accounts/store.ts";
import type { Core } from "../app/open-core.ts";
import { claimIndexes, insertAddresses, SKIPPED } from "../partners/chain/evm/address-store.ts";
import type { Wallet } from "../partners/chain/evm/wallet.ts";
import { byOperator } from "./operator.ts";

/** Claims the next indexes for nobody; their addresses are watched. Returns the next index. */
export async function skipIndexes(
  { database, clock }: Core,
  { fingerprint, addressAt }: Wallet,
  count: number,
  reason: string,
): Promise<number> {
  const now = clock.now();
  const { id: account_id } = (await findOperator(database))!;
  return database.transaction(async (tx) => {
    const indexes = await claimIndexes(tx, count);
    const addresses = indexes.map((address_index) => ({
      ...{ address: addressAt(address_index), wallet: fingerprint, address_index },
      ...{ chain: SKIPPED, created_at: now },
    }));
    await insertAddresses(tx, addresses);
    const last = Math.max(...indexes);
    const detail = { first: Math.min(...indexes), last };
    const act = { action: "wallet.skip" as const, record: `wallet:${fingerprint}`, detail };
    recordAudit(tx, { account_id, ...byOperator(reason), ...act }, now);
    return last + 1;
  });
}
