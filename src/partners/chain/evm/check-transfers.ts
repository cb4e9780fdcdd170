import type { Session } from "../../../platform/db/database.ts";
import { inChunks } from "./in-chunks.ts";
import { RpcFailure, RpcRefused } from "./json-rpc.ts";
import type { EvmChain } from "./model.ts";
import type { Rpc } from "./rpc.ts";
import type { Receipt } from "./rpc-values.ts";
import { findSwept } from "./sweep/sweep-store.ts";
import {
  type BlockRange,
  type LoggedTransfer,
  logKey,
  readOutgoing,
  toMillionths,
} from "./transfer-logs.ts";
import { findReceived } from "./watch-store.ts";

/** The nodes, or one node's own answers, contradict each other: nothing is credited until then. */
export class Disagreement extends Error {
  override name = "Disagreement";
}

type CheckDeps = { session: Session; rpc: Rpc; chain: EvmChain };

/**
 * Whether an amount reached its address. A contract can state a transfer in its log and move less,
 * or nothing. `is_exact`: the node still had the state of that block; else its balance now decides.
 */
type Movement = { has_moved: boolean; is_exact: boolean };

/** By the key of the log. */
export type Movements = ReadonlyMap<string, Movement>;

/**
 * Checks the transfers of a range of blocks against what else the node knows. A log that its own
 * receipt does not have is a contradiction and throws.
 */
export async function checkTransfers(
  deps: CheckDeps,
  range: BlockRange,
  transfers: readonly LoggedTransfer[],
): Promise<Movements> {
  const { rpc } = deps;
  const of_transaction = Map.groupBy(transfers, ({ log }) => log.tx_id);
  await inChunks([...of_transaction], async ([tx_id, logged]) => {
    const receipt = await rpc.receipt(tx_id);
    if (receipt && isInReceipt(receipt, logged)) return;
    throw new Disagreement(`${rpc.host} has logs of ${tx_id} that its receipt does not have`);
  });
  const movements = new Map<string, Movement>();
  const in_order = transfers.toSorted((a, b) => a.log.block_number - b.log.block_number);
  const of_address = Map.groupBy(in_order, ({ log, to }) => `${log.contract} ${to}`);
  await inChunks([...of_address.values()], async (all) => {
    let moved_before = 0n;
    for (const group of Map.groupBy(all, ({ log }) => log.block_number).values()) {
      const movement = await readMovement(deps, range, group, moved_before);
      for (const { log } of group) movements.set(logKey(log), movement);
      if (movement.has_moved) moved_before += sumOf(group);
    }
  });
  return movements;
}

/** What the nodes say together: those that still have the state of the block know better. */
export function judgeMovement(said: readonly Movement[]): boolean {
  const exact = said.filter(({ is_exact }) => is_exact);
  const judges = exact.length > 0 ? exact : said;
  const has_moved = judges.every((one) => one.has_moved);
  if (exact.length > 0 && exact.some((one) => one.has_moved !== has_moved)) {
    throw new Disagreement("nodes have different balances after a transfer");
  }
  return has_moved;
}

function sumOf(group: readonly LoggedTransfer[]): bigint {
  return group.reduce((sum, { value }) => sum + value, 0n);
}

function isInReceipt(receipt: Receipt, logged: readonly LoggedTransfer[]): boolean {
  const keys = new Set(receipt.logs.map(logKey));
  const is_same = ({ log }: LoggedTransfer) =>
    log.block_hash === receipt.block_hash && keys.has(logKey(log));
  return receipt.succeeded && logged.every(is_same);
}

/** Whether the balance of an address grew, in one block, by what the logs say. */
async function readMovement(
  { session, rpc, chain }: CheckDeps,
  range: BlockRange,
  group: readonly LoggedTransfer[],
  moved_before: bigint,
): Promise<Movement> {
  const [{ log, to, token }] = group as [LoggedTransfer];
  const { contract, block_number } = log;
  const stated = sumOf(group);
  const grown = await readGrowth(rpc, contract, to, block_number);
  if (grown !== null) {
    const missing = stated - grown;
    if (missing === 0n) return { has_moved: true, is_exact: true };
    const block = { from_block: block_number, to_block: block_number };
    const left = await readOutgoing(rpc, chain, block, contract, to);
    return { has_moved: missing === sumOf(left), is_exact: true };
  }
  // The node has forgotten the state of that block: what came in, less what left, must be there.
  const before = { token: token.name, address: to, before: range.from_block };
  const received = await findReceived(session, chain.name, before);
  const balance = toMillionths(await rpc.balanceOf(contract, to, "latest"), token.decimals);
  // After the balance: a sweep that began meanwhile is seen.
  const swept = await findSwept(session, chain.name, before);
  if (swept.is_moving) {
    throw new RpcFailure(
      `${rpc.host} has forgotten block ${block_number}, and ${to} is being swept; the deposit is ` +
        "checked when the sweep is final",
    );
  }
  const came_in = received + toMillionths(moved_before + stated, token.decimals);
  return { has_moved: balance >= came_in - swept.amount, is_exact: false };
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
