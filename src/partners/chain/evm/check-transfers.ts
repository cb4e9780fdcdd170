import type { Session } from "../../../platform/db/database.ts";
import { RpcRefused } from "./json-rpc.ts";
import type { EvmChain } from "./model.ts";
import type { Rpc } from "./rpc.ts";
import type { Receipt } from "./rpc-values.ts";
import { type LoggedTransfer, logKey, readOutgoing, toMillionths } from "./transfer-logs.ts";
import { findReceived } from "./watch-store.ts";

/** The nodes, or one node's own answers, contradict each other: nothing is credited until then. */
export class Disagreement extends Error {
  override name = "Disagreement";
}

/**
 * Checks transfers against what else the node knows. A log that its own receipt does not have is a
 * contradiction and throws. Returned are the keys of those whose amount did not reach the address:
 * a contract can state a transfer in its log and move less, or nothing.
 */
export async function checkTransfers(
  deps: { session: Session; rpc: Rpc; chain: EvmChain },
  transfers: readonly LoggedTransfer[],
): Promise<Set<string>> {
  const { rpc } = deps;
  for (const [tx_id, logged] of Map.groupBy(transfers, ({ log }) => log.tx_id)) {
    const receipt = await rpc.receipt(tx_id);
    if (!receipt || !isInReceipt(receipt, logged)) {
      throw new Disagreement(`${rpc.host} has logs of ${tx_id} that its receipt does not have`);
    }
  }
  const unmoved = new Set<string>();
  const groups = Map.groupBy(
    transfers,
    ({ log, to }) => `${log.block_number} ${log.contract} ${to}`,
  );
  for (const group of groups.values()) {
    if (await hasMoved(deps, group)) continue;
    for (const { log } of group) unmoved.add(logKey(log));
  }
  return unmoved;
}

function isInReceipt(receipt: Receipt, logged: readonly LoggedTransfer[]): boolean {
  const keys = new Set(receipt.logs.map(logKey));
  const is_same = ({ log }: LoggedTransfer) =>
    log.block_hash === receipt.block_hash && keys.has(logKey(log));
  return receipt.succeeded && logged.every(is_same);
}

/** Whether the balance of an address grew, in one block, by what the logs say. */
async function hasMoved(
  { session, rpc, chain }: { session: Session; rpc: Rpc; chain: EvmChain },
  group: readonly LoggedTransfer[],
): Promise<boolean> {
  const [{ log, to, token }] = group as [LoggedTransfer];
  const { contract, block_number } = log;
  const stated = group.reduce((sum, { value }) => sum + value, 0n);
  const grown = await readGrowth(rpc, contract, to, block_number);
  if (grown !== null) {
    if (grown === stated) return true;
    return grown + (await readOutgoing(rpc, chain, block_number, contract, to)) === stated;
  }
  // The node has forgotten the state of that block: what came in, less what left, must be there.
  const received = await findReceived(session, chain.name, token.name, to);
  const balance = toMillionths(await rpc.balanceOf(contract, to, "latest"), token.decimals);
  return balance >= received + toMillionths(stated, token.decimals);
}

/** Null where the node keeps no state that old. */
async function readGrowth(
  rpc: Rpc,
  contract: string,
  address: string,
  block: number,
): Promise<bigint | null> {
  try {
    const [before, after] = await Promise.all([
      rpc.balanceOf(contract, address, block - 1),
      rpc.balanceOf(contract, address, block),
    ]);
    return after - before;
  } catch (error) {
    if (error instanceof RpcRefused) return null;
    throw error;
  }
}
