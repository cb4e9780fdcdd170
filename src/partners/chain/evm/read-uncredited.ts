import { inChunks } from "./in-chunks.ts";
import { RpcReverted } from "./json-rpc.ts";
import { uncreditedContracts } from "./known-tokens.ts";
import type { EvmSettings, Nodes } from "./model.ts";
import type { Rpc } from "./rpc.ts";

/** Tokens at one of our addresses that are of no credited contract: nobody was told of them. */
export type Uncredited = {
  token: string;
  contract: string;
  address: string;
  /** In the token's smallest unit. */
  amount: bigint;
  decimals: number;
};

/** What these addresses had after a block, as one node says: it is shown, and decides nothing. */
export async function readUncredited(
  { chain, rpcs }: Nodes,
  settings: Pick<EvmSettings, "chains">,
  addresses: readonly string[],
  block: number,
): Promise<Uncredited[]> {
  const rpc = rpcs[0]!;
  const found: Uncredited[] = [];
  for (const { name, address: contract } of uncreditedContracts(settings, chain)) {
    const decimals = await readDecimals(rpc, contract);
    if (decimals === null) continue;
    await inChunks(addresses, async (address) => {
      const amount = await rpc.balanceOf(contract, address, block).catch(orNothing);
      if (amount > 0n) found.push({ token: name, contract, address, amount, decimals });
    });
  }
  return found;
}

/** Null where the chain has no token at this address. */
async function readDecimals(rpc: Rpc, contract: string): Promise<number | null> {
  try {
    const decimals = await rpc.decimals(contract);
    return decimals <= DECIMALS_MAX ? decimals : null;
  } catch (error) {
    if (error instanceof RpcReverted) return null;
    throw error;
  }
}

const DECIMALS_MAX = 36;

/** The contract is younger than the block. */
function orNothing(error: unknown): bigint {
  if (error instanceof RpcReverted) return 0n;
  throw error;
}
