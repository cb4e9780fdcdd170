import { createHardhatRuntimeEnvironment } from "hardhat/hre";
import { encodeDeployData, encodeFunctionData } from "viem";
import compiled from "./test-token.json" with { type: "json" };

type Request = { method: string; params?: unknown[] };
export type Ask = (method: string, ...params: unknown[]) => Promise<unknown>;

/** A real EVM with its own chain, in this process. It mines a block for each transaction. */
export type EvmNode = {
  ask: Ask;
  /** An account with coins for gas. */
  account: string;
  /** Deploys a token and mints a billion of it to the account. */
  deploy(token?: { symbol?: string; decimals?: number }): Promise<TestToken>;
  mine(blocks?: number): Promise<void>;
  /** Mines the transactions of `work` in one block. */
  inOneBlock(work: () => Promise<void>): Promise<void>;
  /** Undoes what `work` did: the chain goes on from before it, and from the time before it. */
  undo(work: () => Promise<void>): Promise<void>;
  close(): Promise<void>;
};

export type TestToken = {
  address: string;
  balanceOf(address: string): Promise<bigint>;
  /** Each returns the hash of the transaction. */
  transfer(to: string, value: bigint): Promise<string>;
  transferMany(to: readonly string[], value: bigint): Promise<string>;
  pretend(to: string, value: bigint): Promise<string>;
  setBlocked(address: string, is_blocked: boolean): Promise<string>;
  setPaused(is_paused: boolean): Promise<string>;
  /** The token has EIP-3009: what it says to sign, and what it checks. */
  setDomains(stated: string, checked: string): Promise<string>;
};

const { abi } = compiled;
const bytecode = compiled.bytecode as `0x${string}`;
const MINTED = 10n ** 30n;
/** The largest that one transaction may use. */
const GAS = "0xffffff";

export async function startEvmNode(chain_id = 31_337): Promise<EvmNode> {
  const hre = await createHardhatRuntimeEnvironment({
    networks: {
      chain: {
        type: "edr-simulated",
        chainId: chain_id,
        // Else every block of the same second is dated a second later, into the future.
        allowBlocksWithSameTimestamp: true,
      },
    },
  });
  const connection = await hre.network.create("chain");
  const ask: Ask = (method, ...params) =>
    connection.provider.request({ method, params } satisfies Request);
  const [account] = (await ask("eth_accounts")) as [string];

  const send = async (to: string | undefined, data: string) => {
    const tx = await ask("eth_sendTransaction", { from: account, to, data, gas: GAS });
    return tx as string;
  };
  const call = (to: string, functionName: string, args: readonly unknown[]) =>
    send(to, encodeFunctionData({ abi, functionName, args } as never));

  return {
    ask,
    account,
    deploy: async ({ symbol = "USDC", decimals = 6 } = {}) => {
      const args = ["Test token", symbol, decimals];
      const tx = await send(undefined, encodeDeployData({ abi, bytecode, args } as never));
      const receipt = (await ask("eth_getTransactionReceipt", tx)) as { contractAddress: string };
      const address = receipt.contractAddress.toLowerCase();
      await call(address, "mint", [account, MINTED]);
      return {
        address,
        balanceOf: async (of) => {
          const data = `0x70a08231${of.slice(2).padStart(64, "0")}`;
          return BigInt((await ask("eth_call", { to: address, data })) as string);
        },
        transfer: (to, value) => call(address, "transfer", [to, value]),
        transferMany: (to, value) => call(address, "transferMany", [to, value]),
        pretend: (to, value) => call(address, "pretend", [account, to, value]),
        setBlocked: (who, is_blocked) => call(address, "setBlocked", [who, is_blocked]),
        setPaused: (is_paused) => call(address, "setPaused", [is_paused]),
        setDomains: (stated, checked) => call(address, "setDomains", [stated, checked]),
      };
    },
    mine: async (blocks = 1) => {
      await ask("hardhat_mine", `0x${blocks.toString(16)}`, "0x0");
    },
    inOneBlock: async (work) => {
      await ask("evm_setAutomine", false);
      await work().finally(() => ask("evm_setAutomine", true));
      await ask("evm_mine");
    },
    undo: async (work) => {
      const snapshot = await ask("evm_snapshot");
      await work();
      await ask("evm_revert", snapshot);
    },
    close: () => connection.close(),
  };
}
