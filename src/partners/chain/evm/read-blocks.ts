import type { Clock } from "../../../platform/clock.ts";
import type { Database } from "../../../platform/db/database.ts";
import { realTime } from "../../../platform/tasks/real-time.ts";
import { findAddresses, listAddresses } from "./address-store.ts";
import { checkTransfers, Disagreement } from "./check-transfers.ts";
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
import type { StoredTransfer, TransferFinding } from "./watch-store.ts";

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
): Promise<{ to: Block; transfers: StoredTransfer[] } | null> {
  const { chain, rpcs, range_blocks } = watcher;
  const from_block = after + 1;
  const to_block = Math.min(after + range_blocks, until);
  const range = { from_block, to_block };
  // After the final block was read: whoever pays to an address in these blocks has got it before.
  const listed = await listAddresses(database, chain.filtered_addresses_max + 1);
  const filter = listed.length > chain.filtered_addresses_max ? null : listed;
  const read = await Promise.all(
    rpcs.map((rpc) => readFromNode(database, rpc, chain, range, filter)),
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
  const { to, ours, unmoved } = read[0]!;
  const offset_ms = clock.now().getTime() - realTime(clock).getTime();
  return { to, transfers: ours.map((one) => toStored(chain, one, unmoved, offset_ms)) };
}

export async function readKnownBlock(rpc: Rpc, number: number): Promise<Block> {
  const block = await rpc.block(number);
  if (block?.number === number) return block;
  throw new RpcFailure(`${rpc.host} does not have block ${number}`);
}

type Owned = LoggedTransfer & { owned_on: string; mined_at: Date };
type NodeRange = { to: Block; ours: readonly Owned[]; unmoved: ReadonlySet<string> };

async function readFromNode(
  database: Database,
  rpc: Rpc,
  chain: EvmChain,
  range: BlockRange,
  filter: readonly string[] | null,
): Promise<NodeRange> {
  // In one batch: a node that does not have the last block answers with too few logs.
  const [to, logged] = await Promise.all([
    readKnownBlock(rpc, range.to_block),
    readTransfers(rpc, chain, range, filter),
  ]);
  const paid = logged.filter(({ value, token }) => toMillionths(value, token.decimals) > 0n);
  const addresses = [...new Set(paid.map(({ to }) => to))];
  const owners = await findAddresses(database, addresses);
  const chain_of = new Map(owners.map((owner) => [owner.address, owner.chain]));
  const ours = paid.filter((one) => chain_of.has(one.to));
  const blocks = new Map<number, Block>();
  for (const { log } of ours) {
    const block = blocks.get(log.block_number) ?? (await readKnownBlock(rpc, log.block_number));
    blocks.set(log.block_number, block);
    if (block.hash === log.block_hash) continue;
    throw new Disagreement(`${rpc.host} has a log of a block that it does not have`);
  }
  const unmoved = await checkTransfers({ session: database, rpc, chain }, ours);
  const owned = ours.map((one) => ({
    ...one,
    owned_on: chain_of.get(one.to)!,
    mined_at: blocks.get(one.log.block_number)!.mined_at,
  }));
  return { to, ours: owned.toSorted(byPlace), unmoved };
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
  const said = read.map(({ to, ours, unmoved }) =>
    [to.hash, ...ours.map(({ log }) => `${logKey(log)} ${unmoved.has(logKey(log))}`)].join("\n"),
  );
  if (said.every((one) => one === said[0])) return;
  const names = rpcs.map(({ host }) => host).join(" and ");
  throw new Disagreement(
    `${names} have different transfers or blocks from ${from_block} to ${to_block}`,
  );
}

function toStored(
  chain: EvmChain,
  { log, token, from, to, value, owned_on, mined_at }: Owned,
  unmoved: ReadonlySet<string>,
  offset_ms: number,
): StoredTransfer {
  const finding = (): TransferFinding | null => {
    if (unmoved.has(logKey(log))) return "balance_mismatch";
    if (!chain.tokens.some(({ address }) => address === token.address)) return "other_token";
    return owned_on === chain.name ? null : "other_chain";
  };
  const { tx_id, log_index, block_number, block_hash } = log;
  return {
    ...{ chain: chain.name, tx_id, log_index, block_number, block_hash },
    address: to,
    sender: from,
    token: token.name,
    amount: String(toMillionths(value, token.decimals)),
    // Business time: the sandbox's clock may be ahead of the chain's.
    mined_at: new Date(mined_at.getTime() + (Math.abs(offset_ms) < 1000 ? 0 : offset_ms)),
    finding: finding(),
  };
}
