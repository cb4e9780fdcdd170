import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { findSendByKey, insertSend } from "../../../src/partners/chain/evm/send/send-store.ts";
import type { Database } from "../../../src/platform/db/database.ts";
import { waitFor } from "../wait-for.ts";
import { type ChainEntry, chainsFile } from "./chains-file.ts";
import { type EvmNode, startEvmNode, type TestToken } from "./node.ts";
import { type RpcServer, startRpcServer } from "./rpc-server.ts";
import { createSignerFiles, signerFile, TEST_PASSPHRASE, TEST_TREASURY } from "./signer.ts";
import { fundTreasury } from "./test-evm.ts";

/** A process has to start before it sends, on a busy machine. */
const SENT_WITHIN_MS = 60_000;

/** A node with a token, and the server in front of it. */
type ChainNode = {
  node: EvmNode;
  rpc: RpcServer;
  usdc: TestToken;
  /** Of the token. */
  balanceOf(address: string): Promise<bigint>;
};

/** A real chain, a real signer with its files, and the settings of a service that sends on it. */
export type SendingChain = ChainNode & {
  /** Another chain, `base`, if it was asked for. */
  base: ChainNode;
  directory: string;
  settings: Record<string, string>;
  /** How many transactions of the treasury are mined. */
  mined(): Promise<number>;
  /** Queues a payment that is wanted until it is cancelled; returns the payee. */
  queue(database: Database, key: string, amount: bigint): Promise<string>;
  waitForFinal(database: Database, key: string): Promise<true>;
  close(): Promise<void>;
};

type Options = {
  /** Keys of the entry of each chain. */
  entry?: Partial<ChainEntry>;
  with_base?: boolean;
};

const BASE_ID = 31_338;

async function openChainNode(chain_id?: number): Promise<ChainNode> {
  const node = await startEvmNode(chain_id);
  const usdc = await node.deploy();
  await fundTreasury(node, usdc);
  const rpc = await startRpcServer(node);
  return { node, rpc, usdc, balanceOf: usdc.balanceOf };
}

export async function openSendingChain(
  xpub: string,
  { entry = {}, with_base = false }: Options = {},
): Promise<SendingChain> {
  const polygon = await openChainNode();
  const base = with_base ? await openChainNode(BASE_ID) : polygon;
  const { node, usdc } = polygon;
  const files = await createSignerFiles();
  const { directory } = files;
  const [chains, signer] = ["chains.json", "signer.json"].map((name) => join(directory, name));
  const entryOf = ({ rpc, usdc: { address } }: ChainNode) => {
    const tokens = { usdc: { address, decimals: 6 } };
    return { rpc_urls: [rpc.url], tokens, sending: {}, timeout_seconds: 10, ...entry };
  };
  const file: Record<string, ChainEntry> = { polygon: entryOf(polygon) };
  if (with_base) file.base = { ...entryOf(base), chain_id: BASE_ID };
  await writeFile(chains!, chainsFile(file, xpub, TEST_TREASURY));
  const limits = { per_transaction_max: "2000", per_day_max: "5000" };
  const contracts = [...new Set([usdc.address, base.usdc.address])];
  await writeFile(signer!, signerFile(contracts, limits, undefined, [31_337, BASE_ID]));
  return {
    ...{ ...polygon, base, directory },
    settings: {
      SLIPROAD_CHAINS_FILE: chains!,
      SLIPROAD_SIGNER_FILE: signer!,
      SLIPROAD_SIGNER_PASSPHRASE: TEST_PASSPHRASE,
    },
    mined: async () => Number(await node.ask("eth_getTransactionCount", TEST_TREASURY, "latest")),
    queue: async (database, key, amount) => {
      const to = newAddress();
      const action = { kind: "token_transfer", contract: usdc.address, to, amount } as const;
      const send = {
        key,
        chain: "polygon",
        sender: TEST_TREASURY,
        action,
        asked_at: null,
      } as const;
      await insertSend(database, send, new Date());
      return to;
    },
    waitForFinal: (database, key) =>
      waitFor(async () => (await findSendByKey(database, key))!.state === "final", SENT_WITHIN_MS),
    close: async () => {
      for (const one of new Set([polygon, base])) {
        await one.rpc.close();
        await one.node.close();
      }
      await files.close();
    },
  };
}

export function newAddress(): string {
  return `0x${Buffer.from(crypto.getRandomValues(new Uint8Array(20))).toString("hex")}`;
}
