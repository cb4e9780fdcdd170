import type { Session } from "../../../platform/db/database.ts";
import type { ChainTransaction } from "../port.ts";
import { RpcFailure } from "./json-rpc.ts";
import type { Nodes } from "./model.ts";
import type { Rpc } from "./rpc.ts";
import type { Receipt } from "./rpc-values.ts";
import { logKey, toMillionths, toTransfers } from "./transfer-logs.ts";
import { findWatchedChain, type WatchState } from "./watch-store.ts";

const IN_DOUBT: readonly WatchState[] = ["disagreeing", "reorganised", "misconfigured"];

/** More than the time between two blocks on any of the chains. */
const DATED_EARLY_MS = 15_000;

type Mined = { receipt: Receipt; mined_at: Date };

/**
 * A transaction of anybody, with its transfers of the credited tokens. It is final once its block
 * was read by the watcher, so that its deposits are stored by then.
 */
export async function readFinalTransaction(
  session: Session,
  { chain, rpcs }: Nodes,
  tx_id: string,
): Promise<ChainTransaction> {
  const row = await findWatchedChain(session, chain.name);
  // Blocks that were final are in doubt, and with them what is said about a transaction.
  if (row && IN_DOUBT.includes(row.state)) throw new RpcFailure(`${chain.name} is ${row.state}`);
  const mined = await readMinedAt(rpcs, tx_id);
  if (!mined) {
    const known = await Promise.all(rpcs.map((rpc) => rpc.existsTransaction(tx_id)));
    return { status: known.includes(true) ? "pending" : "unknown" };
  }
  const { block_number } = mined.receipt;
  if (!row || block_number > row.scanned_block) return { status: "pending" };
  if (!mined.receipt.succeeded) return { status: "failed" };
  const range = { from_block: block_number, to_block: block_number };
  const transfers = toTransfers({ ...chain, other_tokens: [] }, range, mined.receipt.logs)
    .map(({ log, from, to, token, value }) => ({
      log_index: log.log_index,
      ...{ from, to },
      token: token.name,
      amount: toMillionths(value, token.decimals),
    }))
    .filter(({ amount }) => amount > 0n);
  const { mined_at } = mined;
  const mined_before = new Date(mined_at.getTime() + DATED_EARLY_MS);
  return { status: "final", mined_at, mined_before, transfers };
}

/** Where a transaction was mined; null while not all nodes have it. */
export async function readMinedAt(rpcs: readonly Rpc[], tx_id: string): Promise<Mined | null> {
  const found = await Promise.all(rpcs.map((rpc) => readMined(rpc, tx_id)));
  const mined = found.filter((one) => one !== null);
  if (mined.length < found.length) return null;
  if (new Set(mined.map(({ receipt }) => receiptText(receipt))).size === 1) return mined[0]!;
  const names = rpcs.map(({ host }) => host).join(" and ");
  throw new RpcFailure(`${names} differ about ${tx_id}`);
}

/** Null where it is not mined, or only in a block that was replaced. */
export async function readMined(rpc: Rpc, tx_id: string): Promise<Mined | null> {
  const receipt = await rpc.receipt(tx_id);
  if (!receipt) return null;
  const block = await rpc.block(receipt.block_number);
  return block?.hash === receipt.block_hash ? { receipt, mined_at: block.mined_at } : null;
}

/** All that two nodes must agree on. */
export function receiptText({ succeeded, block_hash, logs }: Receipt): string {
  return [succeeded, block_hash, ...logs.map(logKey)].join("\n");
}
