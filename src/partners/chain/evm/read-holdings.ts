import { COIN_DIGITS, NATIVE_COINS } from "../../../catalogue/chains.ts";
import { powerOfTen } from "../../../platform/money.ts";
import { Disagreement } from "./check-transfers.ts";
import { inChunks } from "./in-chunks.ts";
import type { EvmChain, Nodes } from "./model.ts";
import type { Rpc } from "./rpc.ts";
import { toMillionths } from "./transfer-logs.ts";

/** All that some addresses have of a token or of the chain's coin. */
export type Holding = {
  currency: string;
  /** Millionths of a token, billionths of a coin. */
  amount: bigint;
  /** Whether amounts on the chain are finer than that, so that parts of a unit are left over. */
  is_finer: boolean;
};

const WEI_PER_UNIT = powerOfTen(18 - COIN_DIGITS);

/** What these addresses had after a block. With two nodes both must say the same. */
export async function readHoldings(
  { chain, rpcs }: Nodes,
  addresses: readonly string[],
  block: number,
): Promise<Holding[]> {
  const said = await Promise.all(rpcs.map((rpc) => readFrom(rpc, chain, addresses, block)));
  const [first] = said as [bigint[], ...bigint[][]];
  if (said.some((sums) => sums.some((sum, at) => sum !== first[at]))) {
    const names = rpcs.map(({ host }) => host).join(" and ");
    throw new Disagreement(`${names} have different balances after block ${block}`);
  }
  const tokens = chain.tokens.map(({ name, decimals }, at) => ({
    currency: name as string,
    amount: toMillionths(first[at]!, decimals),
    is_finer: decimals > 6,
  }));
  const coins = first[chain.tokens.length]! / WEI_PER_UNIT;
  return [...tokens, { currency: NATIVE_COINS[chain.name], amount: coins, is_finer: true }];
}

/** The sum of each token in its smallest unit, then of the coin in wei. */
async function readFrom(
  rpc: Rpc,
  { tokens }: EvmChain,
  addresses: readonly string[],
  block: number,
): Promise<bigint[]> {
  const sums = [...tokens.map(() => 0n), 0n];
  await inChunks(addresses, async (address) => {
    const balances = await Promise.all([
      ...tokens.map((token) => rpc.balanceOf(token.address, address, block)),
      rpc.nativeBalance(address, block),
    ]);
    for (const [of, balance] of balances.entries()) sums[of]! += balance;
  });
  return sums;
}
