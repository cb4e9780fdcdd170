import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { findSendByKey, insertSend } from "../../../src/partners/chain/evm/send/send-store.ts";
import type { Database } from "../../../src/platform/db/database.ts";
import { waitFor } from "../wait-for.ts";
import { chainsFile } from "./chains-file.ts";
import { type EvmNode, startEvmNode, type TestToken } from "./node.ts";
import { type RpcServer, startRpcServer } from "./rpc-server.ts";
import { createSignerFiles, signerFile, TEST_PASSPHRASE, TEST_TREASURY } from "./signer.ts";
import { fundTreasury } from "./test-evm.ts";

/** A process has to start before it sends, on a busy machine. */
const SENT_WITHIN_MS = 60_000;

/** A real chain, a real signer with its files, and the settings of a service that sends on it. */
export type SendingChain = {
  node: EvmNode;
  rpc: RpcServer;
  usdc: TestToken;
  directory: string;
  settings: Record<string, string>;
  balanceOf(address: string): Promise<bigint>;
  /** How many transactions of the treasury are mined. */
  mined(): Promise<number>;
  /** Queues a payment that is wanted until it is cancelled; returns the payee. */
  queue(database: Database, key: string, amount: bigint): Promise<string>;
  waitForFinal(database: Database, key: string): Promise<true>;
  close(): Promise<void>;
};

export async function openSendingChain(xpub: string): Promise<SendingChain> {
  const node = await startEvmNode();
  const usdc = await node.deploy();
  await fundTreasury(node, usdc);
  const rpc = await startRpcServer(node);
  const files = await createSignerFiles();
  const { directory } = files;
  const [chains, signer] = ["chains.json", "signer.json"].map((name) => join(directory, name));
  const tokens = { usdc: { address: usdc.address, decimals: 6 } };
  const entry = { rpc_urls: [rpc.url], tokens, sending: {}, timeout_seconds: 10 };
  await writeFile(chains!, chainsFile({ polygon: entry }, xpub, TEST_TREASURY));
  const limits = { per_transaction_max: "2000", per_day_max: "5000" };
  await writeFile(signer!, signerFile([usdc.address], limits));
  return {
    ...{ node, rpc, usdc, directory },
    settings: {
      SLIPROAD_CHAINS_FILE: chains!,
      SLIPROAD_SIGNER_FILE: signer!,
      SLIPROAD_SIGNER_PASSPHRASE: TEST_PASSPHRASE,
    },
    balanceOf: async (address) => {
      const data = `0x70a08231${address.slice(2).padStart(64, "0")}`;
      return BigInt((await node.ask("eth_call", { to: usdc.address, data })) as string);
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
      await rpc.close();
      await node.close();
      await files.close();
    },
  };
}

export function newAddress(): string {
  return `0x${Buffer.from(crypto.getRandomValues(new Uint8Array(20))).toString("hex")}`;
}
