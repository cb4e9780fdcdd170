import { listFindings } from "../../../src/partners/chain/evm/finding-store.ts";
import type { EvmSettings, Watcher } from "../../../src/partners/chain/evm/model.ts";
import { openEvm } from "../../../src/partners/chain/evm/open.ts";
import { type Resumed, resumeChain } from "../../../src/partners/chain/evm/resume-chain.ts";
import type { Sender } from "../../../src/partners/chain/evm/send/model.ts";
import { runSender } from "../../../src/partners/chain/evm/send/run-sender.ts";
import { findSendByKey } from "../../../src/partners/chain/evm/send/send-store.ts";
import { findSender } from "../../../src/partners/chain/evm/send/sender-store.ts";
import { runSweeps } from "../../../src/partners/chain/evm/sweep/run-sweeps.ts";
import { watchChain } from "../../../src/partners/chain/evm/watch-chain.ts";
import { findWatchedChain } from "../../../src/partners/chain/evm/watch-store.ts";
import type { AskOwner, ChainPort } from "../../../src/partners/chain/port.ts";
import type { Clock } from "../../../src/platform/clock.ts";
import type { Database } from "../../../src/platform/db/database.ts";
import { createTestDatabase } from "../database.ts";
import { SILENT } from "../task-fixture.ts";
import { type ChainEntry, settingsOf, TEST_XPUB } from "./chains-file.ts";
import { type CountingSigner, createCountingSigner } from "./counting-signer.ts";
import { type EvmNode, startEvmNode, type TestToken } from "./node.ts";
import { type RpcServer, startRpcServer } from "./rpc-server.ts";
import { TEST_TREASURY } from "./signer.ts";

/** A node with two tokens, RPC servers in front of it, and the adapter that reads them. */
export type TestEvm = {
  node: EvmNode;
  rpcs: readonly RpcServer[];
  tokens: { usdc: TestToken; usdt: TestToken; other: TestToken; fake: TestToken };
  database: Database;
  database_url: string;
  port: ChainPort;
  entry: ChainEntry;
  issue(): Promise<string>;
  /** Reads the chain as far as it goes and returns the state. */
  watch(): Promise<string>;
  /** The adapter as after a restart. */
  restart(change?: Partial<ChainEntry>): Promise<void>;
  resume(from_block?: number): Promise<Resumed>;
  state(): Promise<{ state: string; problem: string | null; scanned_block: bigint }>;
  /** Transfers to an address that would be credited. */
  credited(address: string): Promise<{ tx_id: string; amount: bigint; token: string }[]>;
  findings(address: string): Promise<string[]>;
  /** Time passes for the watcher. */
  wait(ms: number): void;
  signer: CountingSigner;
  /** Keys of sends that may not leave now. */
  held: Set<string>;
  /** Runs the queues of the chain once, as the worker does; what the process remembers then. */
  runSender(database?: Database): Promise<Sender>;
  watcher(): Watcher;
  /** Looks once for what to sweep, and what comes next, as the worker does. */
  runSweeps(database?: Database): Promise<void>;
  sender(): ReturnType<typeof findSender>;
  sendOf(key: string): ReturnType<typeof findSendByKey>;
  close(): Promise<void>;
};

const TEST_INDEX_KEY = Buffer.alloc(32, 1);
const TREASURY_TOKENS = 1_000_000_000_000n;

/** A clock that a test moves. */
function createTestClock(): Clock & { wait(ms: number): void } {
  let ahead_ms = 0;
  return {
    now: () => new Date(Date.now() + ahead_ms),
    difference_ms: () => ahead_ms,
    refresh: async () => {},
    wait: (ms) => {
      ahead_ms += ms;
    },
  };
}

async function deployTokens(node: EvmNode) {
  return {
    usdc: await node.deploy(),
    usdt: await node.deploy({ symbol: "USDT" }),
    other: await node.deploy({ symbol: "USDC.e" }),
    // The same symbol as the real one, at an address that nobody configured.
    fake: await node.deploy(),
  };
}

/** Native coin and tokens for the address that sends. */
export async function fundTreasury(node: EvmNode, token: TestToken): Promise<void> {
  await node.ask("hardhat_setBalance", TEST_TREASURY, `0x${(10n ** 18n).toString(16)}`);
  await token.transfer(TEST_TREASURY, TREASURY_TOKENS);
}

type TestEvmOptions = {
  rpcs?: number;
  entry?: Partial<ChainEntry>;
  sends?: boolean;
  earlier_xpubs?: readonly string[];
};

export async function openTestEvm(options: TestEvmOptions = {}): Promise<TestEvm> {
  const db = await createTestDatabase();
  const { database } = db;
  const clock = createTestClock();
  const node = await startEvmNode();
  const tokens = await deployTokens(node);
  const rpcs: RpcServer[] = [];
  for (let at = 0; at < (options.rpcs ?? 1); at += 1) rpcs.push(await startRpcServer(node));
  const at = ({ address }: TestToken) => ({ address, decimals: 6 });
  const entry: ChainEntry = {
    rpc_urls: rpcs.map(({ url }) => url),
    tokens: { usdc: at(tokens.usdc), usdt: at(tokens.usdt) },
    other_tokens: { "usdc.e": at(tokens.other) },
    ...(options.sends ? { sending: {} } : {}),
    ...options.entry,
  };
  const signer = createCountingSigner();
  const held = new Set<string>();
  if (options.sends) await fundTreasury(node, tokens.usdc);
  const open = (change: Partial<ChainEntry> = {}) =>
    openEvm(
      { database, clock, index_key: TEST_INDEX_KEY },
      settingsWith(options, { ...entry, ...change }),
      async () => signer,
    );
  const close = async () => {
    for (const rpc of rpcs) await rpc.close();
    await node.close();
    await db.drop();
  };
  let evm = await open().catch(async (error: unknown) => {
    await close();
    throw error;
  });
  const evmNow = () => evm;
  return {
    ...{ node, rpcs, tokens, database, entry, signer, held, database_url: db.url },
    get port() {
      return evmNow().chain;
    },
    issue: async () => (await evm.chain.issueAddresses(database, ["polygon"], new Date()))[0]!,
    watch: () => watchAll({ database, clock }, evm.watchers[0]!),
    restart: async (change) => {
      evm = await open(change);
    },
    resume: (from_block) =>
      resumeChain({ database, clock }, evm.watchers[0]!, from_block ?? null, () => {}),
    state: async () => (await findWatchedChain(database, "polygon"))!,
    credited: async (address) => {
      const { transfers } = await evm.chain.listTransfers("polygon", null, 100_000);
      return transfers
        .filter((one) => one.address === address)
        .map(({ tx_id, amount, token }) => ({ tx_id, amount, token }));
    },
    findings: async (address) =>
      (await listFindings(database, 1_000))
        .filter((one) => one.address === address)
        .map(({ finding }) => finding),
    wait: clock.wait,
    runSender: async (other = database) => {
      // As in a process of its own.
      const sender = { ...evm.senders[0]!, next_at_ms: 0 };
      const askOwner: AskOwner = async (_, key) => (held.has(key) ? "held" : "wanted");
      await runSender({ database: other, clock, askOwner }, sender, SILENT);
      return sender;
    },
    runSweeps: async (other = database) => {
      const sweeper = { ...evm.sweepers[0]!, next_at_ms: 0 };
      await runSweeps({ database: other, clock }, sweeper);
    },
    watcher: () => evm.watchers[0]!,
    sender: () => findSender(database, "polygon", TEST_TREASURY),
    sendOf: (key) => findSendByKey(database, key),
    close,
  };
}

function settingsWith({ earlier_xpubs = [] }: TestEvmOptions, polygon: ChainEntry): EvmSettings {
  return { ...settingsOf({ polygon }, TEST_XPUB, TEST_TREASURY), earlier_xpubs };
}

async function watchAll(
  deps: Parameters<typeof watchChain>[0],
  watcher: Watcher,
): ReturnType<TestEvm["watch"]> {
  for (;;) {
    // Without the pause after a failure: a test waits for nothing.
    watcher.next_at_ms = 0;
    const state = (await watchChain(deps, watcher))!;
    if (state !== "reading") return state;
  }
}
