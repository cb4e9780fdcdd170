import { TOKEN_DIGITS } from "../../../catalogue/chains.ts";
import { powerOfTen } from "../../../platform/money.ts";
import { RpcRefused, RpcTimeout } from "./json-rpc.ts";
import type { EvmChain, TokenContract } from "./model.ts";
import type { Rpc } from "./rpc.ts";
import type { Log } from "./rpc-values.ts";

/** keccak256("Transfer(address,address,uint256)") */
const TRANSFER_TOPIC = "0xddf252ad1be2c89b69c2b068fc378daa952ba7f163c4a11628f55a4df523b3ef";
const ADDRESS_TOPIC = /^0x0{24}[0-9a-f]{40}$/;
/** Nodes limit a list of topics to 1000 and less. */
const TOPICS_PER_REQUEST = 500;
/** Their limits are multiples of this. */
const CUT_AT = 1_000;

/** A transfer of one of the configured contracts, as its log states it. */
export type LoggedTransfer = {
  log: Log;
  token: TokenContract;
  from: string;
  to: string;
  /** In the token's own smallest unit. */
  value: bigint;
};

export type BlockRange = { from_block: number; to_block: number };

export function contractsOf(chain: EvmChain): readonly TokenContract[] {
  return [...chain.tokens, ...chain.other_tokens];
}

/** Transfers of the configured contracts, to these addresses; null: to any. */
export async function readTransfers(
  rpc: Rpc,
  chain: EvmChain,
  range: BlockRange,
  addresses: readonly string[] | null,
): Promise<LoggedTransfer[]> {
  const contracts = contractsOf(chain).map(({ address }) => address);
  const ask = async (topics: readonly (null | string | readonly string[])[]) => {
    const logs = await rpc.logs({ ...range, contracts, topics });
    if (!mayBeCut(logs.length) || range.from_block === range.to_block) return onlyOnce(logs);
    throw new RpcRefused(`${rpc.host} has exactly ${logs.length} logs, which may not be all`);
  };
  if (addresses === null) return toTransfers(chain, range, await ask([TRANSFER_TOPIC]));
  const found: Log[] = [];
  for (let at = 0; at < addresses.length; at += TOPICS_PER_REQUEST) {
    const topics = addresses.slice(at, at + TOPICS_PER_REQUEST).map(toTopic);
    found.push(...(await ask([TRANSFER_TOPIC, null, topics])));
  }
  return toTransfers(chain, range, found);
}

/** Some nodes leave out what exceeds their limit, without an error. */
function mayBeCut(count: number): boolean {
  return count >= CUT_AT && count % CUT_AT === 0;
}

/** A node may send a log twice; it was still written once. */
function onlyOnce(logs: readonly Log[]): Log[] {
  return [...new Map(logs.map((log) => [logKey(log), log])).values()];
}

/** Transfers of one contract that left an address. */
export async function readOutgoing(
  rpc: Rpc,
  chain: EvmChain,
  range: BlockRange,
  contract: string,
  address: string,
): Promise<LoggedTransfer[]> {
  const topics = [TRANSFER_TOPIC, toTopic(address)];
  const logs = onlyOnce(await rpc.logs({ ...range, contracts: [contract], topics }));
  return toTransfers(chain, range, logs).filter(({ from }) => from === address);
}

/** Only what is a transfer of a configured contract within the range; a node may send more. */
export function toTransfers(
  chain: EvmChain,
  { from_block, to_block }: BlockRange,
  logs: readonly Log[],
): LoggedTransfer[] {
  const tokens = new Map(contractsOf(chain).map((token) => [token.address, token]));
  return logs.flatMap((log) => {
    const token = tokens.get(log.contract);
    const [event, from, to, ...more] = log.topics;
    const is_inside = log.block_number >= from_block && log.block_number <= to_block;
    if (!token || !is_inside || event !== TRANSFER_TOPIC) return [];
    // The same event with the amount as a topic is that of an NFT.
    if (more.length > 0 || log.data.length !== 66) return [];
    if (!ADDRESS_TOPIC.test(from ?? "") || !ADDRESS_TOPIC.test(to ?? "")) return [];
    return [{ log, token, from: toAddress(from!), to: toAddress(to!), value: BigInt(log.data) }];
  });
}

/** In millionths; what is smaller than one is lost to the depositor and stays in the wallet. */
export function toMillionths(value: bigint, decimals: number): bigint {
  return decimals >= TOKEN_DIGITS
    ? value / powerOfTen(decimals - TOKEN_DIGITS)
    : value * powerOfTen(TOKEN_DIGITS - decimals);
}

/** In the token's smallest unit; null where it has no coins that small. */
export function fromMillionths(amount: bigint, decimals: number): bigint | null {
  if (decimals >= TOKEN_DIGITS) return amount * powerOfTen(decimals - TOKEN_DIGITS);
  const unit = powerOfTen(TOKEN_DIGITS - decimals);
  return amount % unit === 0n ? amount / unit : null;
}

/** Identifies a log with everything that it says: two nodes must agree on all of it. */
export function logKey({ block_hash, tx_id, log_index, contract, topics, data }: Log): string {
  return [block_hash, tx_id, log_index, contract, ...topics, data].join(" ");
}

/**
 * How many blocks to ask for after a refusal: what the message names, else half. Null where there
 * is nothing smaller to ask for, or the refusal is not about the size.
 */
export function smallerRange(error: unknown, blocks: number): number | null {
  const may_be_size = error instanceof RpcRefused || error instanceof RpcTimeout;
  if (!may_be_size || blocks <= 1) return null;
  const half = Math.floor(blocks / 2);
  const named = /\[\s*(0x[0-9a-f]+)\s*,\s*(0x[0-9a-f]+)\s*\]/i.exec(error.message);
  if (named) {
    const size = Number(named[2]) - Number(named[1]) + 1;
    if (size >= 1 && size < blocks) return size;
  }
  const counted = /(\d[\d,]{0,12}) blocks?\b/i.exec(error.message);
  const size = Number(counted?.[1]?.replaceAll(",", ""));
  return size >= 1 && size < blocks ? size : half;
}

function toTopic(address: string): string {
  return `0x${address.slice(2).padStart(64, "0")}`;
}

function toAddress(topic: string): string {
  return `0x${topic.slice(-40)}`;
}
