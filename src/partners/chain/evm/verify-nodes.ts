import { RpcReverted } from "./json-rpc.ts";
import type { EvmChain } from "./model.ts";
import type { Rpc } from "./rpc.ts";
import { contractsOf } from "./transfer-logs.ts";

/** The operator's file and the chain differ: no amount can be trusted. */
export class Misconfigured extends Error {
  override name = "Misconfigured";
}

/** Compares every node with the configuration: the chain's id, and the decimals of its tokens. */
export async function verifyNodes(chain: EvmChain, rpcs: readonly Rpc[]): Promise<void> {
  for (const rpc of rpcs) {
    const chain_id = await rpc.chainId();
    if (chain_id !== chain.chain_id) {
      throw new Misconfigured(
        `${rpc.host} is a node of chain ${chain_id}, but chains.${chain.name}.chain_id is ` +
          `${chain.chain_id}`,
      );
    }
    for (const { name, address, decimals } of contractsOf(chain)) {
      const found = await rpc.decimals(address).catch((error: unknown) => {
        if (error instanceof RpcReverted) return null;
        throw error;
      });
      if (found === decimals) continue;
      const has = found === null ? "is no token contract" : `has ${found} decimals`;
      throw new Misconfigured(
        `the contract of ${name} on ${chain.name}, ${address}, ${has}; the chains file says ` +
          `${decimals} decimals`,
      );
    }
  }
}
