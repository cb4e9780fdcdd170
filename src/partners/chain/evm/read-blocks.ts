import type { Clock } from "../../../platform/clock.ts";
import type { Database } from "../../../platform/db/database.ts";
import { findAddresses, listAddresses } from "./address-store.ts";
import { businessTime } from "./business-time.ts";
import { checkTransfers, Disagreement, judgeMovement, type Movements } from "./check-transfers.ts";
import { inChunks } from "./in-chunks.ts";
import { RpcFailure } from "./json-rpc.ts";
import type { EvmChain, Watcher } from "./model.ts";
import type { Rpc } from "./rpc.ts";
import type { Block } from "./rpc-values.ts";
import {
  type BlockRange,
  type LoggedTransfer,
  logKey,
  readTransfers,
  smallerRange,
  toMillionths,
} from "./transfer-logs.ts";
import { transferMac } from "./transfer-mac.ts";
import { proveAddress } from "./wallet.ts";
import type { StoredTransfer, TransferFinding } from "./watch-store.ts";

type ReadBlocks = {
  to: Block;
  transfers: StoredTransfer[];
  macOf(transfer: StoredTransfer): Buffer;
};

const RANGE_MAX = 10_000;
const RANGES_BEFORE_GROWTH = 50;

/**
 * The transfers to our addresses in the blocks after `after`, as many as the nodes answer at once
 * and not beyond `until`. Null after a refusal: the next call asks for fewer.
 */
export async function readBlocks(
  { database, clock }: { database: Database; clock: Clock },
  watcher: Watcher,
  { after, until }: { after: number; until: number },
): Promise<ReadBlocks | null> {
  const { chain, rpcs, range_blocks } = watcher;
  const from_block = after + 1;
  const to_block = Math.min(after + range_blocks, until);
  const range = { from_block, to_block };
  // After the final block was read: whoever pays to an address in these blocks has got it before.
  const listed = await listAddresses(database, chain.filtered_addresses_max + 1);
  const filter = listed.length > chain.filtered_addresses_max ? null : listed;
  const read = await Promise.all(
    rpcs.map((rpc) => readFromNode(database, watcher, rpc, range, filter)),
  ).catch((error: unknown) => {
    const smaller = smallerRange(error, to_block - after);
    if (smaller === null) throw error;
    watcher.range_blocks = smaller;
    watcher.ranges_before_growth = RANGES_BEFORE_GROWTH;
    return null;
  });
  if (!read) return null;
  compareNodes(rpcs, range, read);
  watcher.ranges_before_growth = Math.max(0, watcher.ranges_before_growth - 1);
  if (to_block - after === range_blocks && watcher.ranges_before_growth === 0) {
    watcher.range_blocks = Math.min(range_blocks * 2, RANGE_MAX);
  }
  const { to, ours } = read[0]!;
  const credited = ours.filter(({ value, token }) => toMillionths(value, token.decimals) > 0n);
  const toBusiness = businessTime(clock);
  const transfers = credited.map((one) => {
    const said = read.map(({ movements }) => movements.get(logKey(one.log))!);
    return toStored(chain, one, judgeMovement(said), toBusiness);
  });
  const { index_key } = watcher.proofs;
  return { to, transfers, macOf: (one) => transferMac(index_key, chain.chain_id, one) };
}

export async function readKnownBlock(rpc: Rpc, number: number): Promise<Block> {
  const block = await rpc.block(number);
  if (block?.number === number) return block;
  throw new RpcFailure(`${rpc.host} does not have block ${number}`);
}

/** A block about which all nodes say the same. */
export async function readSameBlock(rpcs: readonly Rpc[], number: number): Promise<Block> {
  const blocks = await Promise.all(rpcs.map((rpc) => readKnownBlock(rpc, number)));
  if (new Set(blocks.map(({ hash }) => hash)).size === 1) return blocks[0]!;
  const names = rpcs.map(({ host }) => host).join(" and ");
  throw new Disagreement(`${names} have different blocks ${number}`);
}

type Owned = LoggedTransfer & { owned_on: string; is_proven: boolean; mined_at: Date };
type NodeRange = { to: Block; ours: readonly Owned[]; movements: Movements };

async function readFromNode(
  database: Database,
  { chain, proofs }: Pick<Watcher, "chain" | "proofs">,
  rpc: Rpc,
  range: BlockRange,
  filter: readonly string[] | null,
): Promise<NodeRange> {
  // In one batch: a node that does not have the last block answers with too few logs.
  const [to, logged] = await Promise.all([
    readKnownBlock(rpc, range.to_block),
    readTransfers(rpc, chain, range, filter),
  ]);
  // With what is too little to be credited: the balance grows by it as well.
  const paid = logged.filter(({ value }) => value > 0n);
  const addresses = [...new Set(paid.map(({ to }) => to))];
  const owners = await findAddresses(database, addresses);
  const owner_of = new Map(owners.map((owner) => [owner.address, owner]));
  const ours = paid.filter((one) => owner_of.has(one.to));
  const blocks = new Map<number, Block>();
  const numbers = new Set(ours.map(({ log }) => log.block_number));
  await inChunks([...numbers], async (number) => {
    blocks.set(number, await readKnownBlock(rpc, number));
  });
  if (ours.some(({ log }) => blocks.get(log.block_number)!.hash !== log.block_hash)) {
    throw new Disagreement(`${rpc.host} has a log of a block that it does not have`);
  }
  const movements = await checkTransfers({ session: database, rpc, chain }, range, ours);
  const proven = new Set(
    owners.filter((owner) => proveAddress(proofs.wallets, owner) === "proven").map(toAddress),
  );
  const owned = ours.map((one) => ({
    ...one,
    owned_on: owner_of.get(one.to)!.chain,
    is_proven: proven.has(one.to),
    mined_at: blocks.get(one.log.block_number)!.mined_at,
  }));
  return { to, ours: owned.toSorted(byPlace), movements };
}

function toAddress({ address }: { address: string }): string {
  return address;
}

function byPlace({ log: a }: LoggedTransfer, { log: b }: LoggedTransfer): number {
  return a.block_number - b.block_number || a.log_index - b.log_index;
}

/** With two nodes, only what both say is stored. */
function compareNodes(
  rpcs: readonly Rpc[],
  { from_block, to_block }: BlockRange,
  read: readonly NodeRange[],
): void {
  const said = read.map(({ to, ours }) =>
    [to.hash, ...ours.map(({ log }) => logKey(log))].join("\n"),
  );
  if (said.every((one) => one === said[0])) return;
  const names = rpcs.map(({ host }) => host).join(" and ");
  throw new Disagreement(
    `${names} have different transfers or blocks from ${from_block} to ${to_block}`,
  );
}

function toStored(
  chain: EvmChain,
  { log, token, from, to, value, owned_on, is_proven, mined_at }: Owned,
  has_moved: boolean,
  toBusiness: (at: Date) => Date,
): StoredTransfer {
  const finding = (): TransferFinding | null => {
    if (!has_moved) return "balance_mismatch";
    if (!chain.tokens.some(({ address }) => address === token.address)) return "other_token";
    if (owned_on !== chain.name) return "other_chain";
    return is_proven ? null : "unproven";
  };
  const { tx_id, log_index, block_number, block_hash } = log;
  return {
    ...{ chain: chain.name, tx_id, log_index, block_number, block_hash },
    address: to,
    sender: from,
    token: token.name,
    amount: String(toMillionths(value, token.decimals)),
    mined_at: toBusiness(mined_at),
    finding: finding(),
  };
}
