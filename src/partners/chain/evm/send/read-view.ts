import { Disagreement } from "../check-transfers.ts";
import { RpcFailure, RpcRefused } from "../json-rpc.ts";
import type { Rpc } from "../rpc.ts";
import { readFinalOf } from "../watch-chain.ts";
import type { Market } from "./fees.ts";
import { type Sender, type SenderRow, SendingStopped } from "./model.ts";

/** What the nodes say about an address now; of two nodes, the less favourable answer. */
export type View = {
  /** Of the node that is behind. */
  latest_block: number;
  final_block: number;
  /** How many transactions of the address are mined: what all nodes know, and what any knows. */
  mined_nonce: number;
  mined_nonce_max: number;
  /** The same with those that wait to be mined. */
  pending_nonce: number;
  /** Wei. */
  balance: bigint;
  market: Market;
};

export async function readView(sender: Sender, address: string): Promise<View> {
  const read = await Promise.all(sender.rpcs.map((rpc) => readFromNode(sender, rpc, address)));
  const counts = read.map(({ count }) => count);
  const largest = (amounts: readonly bigint[]) => amounts.reduce((a, b) => (a > b ? a : b));
  const smallest = (amounts: readonly bigint[]) => amounts.reduce((a, b) => (a < b ? a : b));
  return {
    latest_block: Math.min(...read.map(({ latest }) => latest.number)),
    final_block: Math.min(...read.map(({ final }) => final)),
    mined_nonce: Math.min(...counts),
    mined_nonce_max: Math.max(...counts),
    pending_nonce: Math.max(...read.map(({ pending }) => pending)),
    balance: smallest(read.map(({ balance }) => balance)),
    market: {
      base_fee: largest(read.map(({ latest }) => latest.base_fee)),
      // It is paid in full, so the smaller suggestion counts.
      priority_fee: largest([
        sender.settings.priority_fee_min,
        smallest(read.map(({ priority_fee }) => priority_fee)),
      ]),
    },
  };
}

async function readFromNode({ chain }: Sender, rpc: Rpc, address: string) {
  const [latest, final, count, pending, balance, priority_fee] = await Promise.all([
    rpc.block("latest"),
    readFinalOf([rpc], chain),
    rpc.transactionCount(address),
    rpc.transactionCount(address, "pending").catch(orElse(0)),
    rpc.nativeBalance(address),
    rpc.priorityFee().catch(orElse(0n)),
  ]);
  if (!latest) throw new RpcFailure(`${rpc.host} has no latest block`);
  return { latest, final, count, pending, balance, priority_fee };
}

/** Not every chain has a fee above the base fee, or a block that is pending. */
function orElse<Value>(value: Value): (error: unknown) => Value {
  return (error) => {
    if (error instanceof RpcRefused) return value;
    throw error;
  };
}

/** The nonce of a queue's first transaction: nothing of the address may be on its way. */
export async function readFirstNonce({ rpcs, chain }: Sender, address: string): Promise<number> {
  const counts = await Promise.all(
    rpcs.flatMap((rpc) => [
      rpc.transactionCount(address),
      rpc.transactionCount(address, "pending"),
    ]),
  );
  if (new Set(counts).size === 1) return counts[0]!;
  throw new Disagreement(
    `${address} on ${chain.name} has transactions that are not mined yet, or the nodes disagree; ` +
      "sending starts when all are mined",
  );
}

/**
 * More transactions of the address exist than we know of: somebody else signs with its key, or the
 * database is an old copy. Sending on could pay a second time. The row must be read after the view:
 * then it has every nonce that this or another process has used.
 */
export function compareNonce(sender: Sender, row: SenderRow, view: View): void {
  const { next_nonce, address, chain } = row;
  if (next_nonce === null) return;
  if (view.mined_nonce_max <= next_nonce) {
    if (view.pending_nonce <= next_nonce) return;
    // One node's belief, until it is mined.
    throw new Disagreement(
      `${address} on ${chain} has transactions on their way that are not known here`,
    );
  }
  const told = `${address} on ${chain} has sent ${view.mined_nonce_max} transactions`;
  if (view.mined_nonce <= next_nonce) {
    const hosts = sender.rpcs.map(({ host }) => host).join(" or ");
    throw new Disagreement(`${told}, says ${hosts}, but not both; ${next_nonce} are known here`);
  }
  throw new SendingStopped(
    `${told}, but only ${next_nonce} are known here: somebody else has its key, or this database ` +
      "is an old copy. See docs/guides/chains.md",
  );
}
