import type { Session } from "../../../platform/db/database.ts";
import type { ChainTransaction } from "../port.ts";
import { RpcFailure } from "./json-rpc.ts";
import type { Watcher } from "./model.ts";
import type { Rpc } from "./rpc.ts";
import type { Receipt } from "./rpc-values.ts";
import { logKey, toMillionths, toTransfers } from "./transfer-logs.ts";
import { findWatchedChain } from "./watch-store.ts";

type Mined = { receipt: Receipt; mined_at: Date };

/**
 * A transaction of anybody, with its transfers of the credited tokens. It is final once its block
 * was read by the watcher, so that its deposits are stored by then.
 */
export async function readFinalTransaction(
  session: Session,
  { chain, rpcs }: Watcher,
  tx_id: string,
): Promise<ChainTransaction> {
  const row = await findWatchedChain(session, chain.name);
  const found = await Promise.all(rpcs.map((rpc) => readMined(rpc, tx_id)));
  const mined = found.filter((one) => one !== null);
  const [first] = mined;
  if (!first || mined.length < found.length) {
    const known = await Promise.all(rpcs.map((rpc) => rpc.existsTransaction(tx_id)));
    return { status: known.includes(true) || first ? "pending" : "unknown" };
  }
  if (!row || first.receipt.block_number > row.scanned_block) return { status: "pending" };
  if (new Set(mined.map(({ receipt }) => summary(receipt))).size > 1) {
    const names = rpcs.map(({ host }) => host).join(" and ");
    throw new RpcFailure(`${names} differ about ${tx_id}`);
  }
  if (!first.receipt.succeeded) return { status: "failed" };
  const { block_number } = first.receipt;
  const range = { from_block: block_number, to_block: block_number };
  const transfers = toTransfers({ ...chain, other_tokens: [] }, range, first.receipt.logs)
    .map(({ log, from, to, token, value }) => ({
      log_index: log.log_index,
      ...{ from, to },
      token: token.name,
      amount: toMillionths(value, token.decimals),
    }))
    .filter(({ amount }) => amount > 0n);
  return { status: "final", mined_at: first.mined_at, transfers };
}

/** Null where it is not mined, or only in a block that was replaced. */
async function readMined(rpc: Rpc, tx_id: string): Promise<Mined | null> {
  const receipt = await rpc.receipt(tx_id);
  if (!receipt) return null;
  const block = await rpc.block(receipt.block_number);
  return block?.hash === receipt.block_hash ? { receipt, mined_at: block.mined_at } : null;
}

function summary({ succeeded, block_hash, logs }: Receipt): string {
  return [succeeded, block_hash, ...logs.map(logKey)].join("\n");
}
