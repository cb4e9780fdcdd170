import type { Clock } from "../../../platform/clock.ts";
import type { Database } from "../../../platform/db/database.ts";
import type { Module } from "../../../platform/module.ts";
import { StartupError } from "../../../platform/startup-error.ts";
import { realTime } from "../../../platform/tasks/real-time.ts";
import { recurringTask } from "../../../platform/tasks/recurring-task.ts";
import type { TaskLog } from "../../../platform/tasks/task-log.ts";
import { ALWAYS_LEAVING, type Leaving } from "../../leaving.ts";
import { type AskOwner, type ChainPort, ChainUnavailable } from "../port.ts";
import { Disagreement } from "./check-transfers.ts";
import { checkUnused } from "./check-unused.ts";
import { createEvmChain } from "./evm-chain.ts";
import { evmMetrics, noticesOf, readinessOf } from "./health.ts";
import type { EvmChain, EvmSettings, Nodes, Watcher } from "./model.ts";
import { readSameBlock } from "./read-blocks.ts";
import { openRpc } from "./rpc.ts";
import type { Block } from "./rpc-values.ts";
import { gasNotices, sendMetrics, sendReadiness } from "./send/health.ts";
import type { Sender } from "./send/model.ts";
import { runSender } from "./send/run-sender.ts";
import type { Signer } from "./signer/port.ts";
import { sweepMetrics } from "./sweep/health.ts";
import type { Sweeper } from "./sweep/model.ts";
import { runSweeps } from "./sweep/run-sweeps.ts";
import { Misconfigured, verifyNodes } from "./verify-nodes.ts";
import { openWallet, openWallets, type Wallet } from "./wallet.ts";
import { createWatcher, readFinalOf, watchChain } from "./watch-chain.ts";
import { findWatchedChain, insertWatchedChain } from "./watch-store.ts";

type OpenDeps = { database: Database; clock: Clock; index_key: Buffer; leaving?: Leaving };
type OpenSigner = () => Promise<Signer>;

const WATCHED_EVERY_MS = 1_000;
const SENT_EVERY_MS = 1_000;

type Evm = {
  chain: ChainPort;
  watchers: readonly Watcher[];
  senders: readonly Sender[];
  sweepers: readonly Sweeper[];
  openModule(log: TaskLog, askOwner: AskOwner): Module;
};

/**
 * Opens the chains of the operator's file: the port, and the module that watches them and sends.
 * Only tasks open the signer, so a process without a worker never does.
 */
export async function openEvm(
  deps: OpenDeps,
  settings: EvmSettings,
  openSigner: OpenSigner,
): Promise<Evm> {
  const wallet = openWallet(settings.xpub);
  const { index_key } = deps;
  const proofs = { index_key, wallets: openWallets([settings.xpub, ...settings.earlier_xpubs]) };
  const watchers = settings.chains.map((chain) => createWatcher(openNodes(chain), proofs));
  for (const watcher of watchers) await ensureCursor(deps, watcher, wallet);
  const names = watchers.map(({ chain }) => chain.name);
  const { treasury } = settings;
  const signer = openOnce(openSigner);
  const { leaving = ALWAYS_LEAVING } = deps;
  const from = { treasury, leaving };
  const senders = watchers.flatMap((watcher) => createSender(watcher, from, signer.open));
  const sweepers = senders.flatMap((sender) => createSweeper(sender, wallet));
  return {
    chain: createEvmChain({ ...deps, wallet, settings, watchers }),
    watchers,
    senders,
    sweepers,
    openModule: (log, askOwner) => ({
      // One task each: a node that does not answer delays no other chain.
      tasks: [
        ...watchers.map((watcher) =>
          recurringTask(deps.database, watchTask(watcher), WATCHED_EVERY_MS, () =>
            watchAndReport(deps, watcher, log),
          ),
        ),
        ...senders.map((sender) =>
          recurringTask(deps.database, sendTask(sender), SENT_EVERY_MS, () =>
            runSender({ ...deps, askOwner }, sender, log),
          ),
        ),
        ...sweepers.map((sweeper) =>
          recurringTask(deps.database, sweepTask(sweeper), SENT_EVERY_MS, () =>
            runSweeps(deps, sweeper),
          ),
        ),
      ],
      recurring: [...watchers.map(watchTask), ...senders.map(sendTask), ...sweepers.map(sweepTask)],
      metrics: [evmMetrics(names), sendMetrics(senders), sweepMetrics()],
      readiness: async (session, time) => [
        ...(await readinessOf(settings.chains)(session, time)),
        ...(await sendReadiness(senders)(session, time)),
      ],
      notices: async (session) => [
        ...(await noticesOf(settings.chains)(session)),
        ...(await gasNotices(senders)(session)),
      ],
      close: signer.close,
    }),
  };
}

export function openNodes(chain: EvmChain): Nodes {
  const timeout_ms = chain.timeout_seconds * 1000;
  return { chain, rpcs: chain.rpc_urls.map((url) => openRpc(url, timeout_ms)) };
}

function watchTask({ chain }: Watcher): string {
  return `watch-${chain.name}`;
}

function sendTask({ chain }: Sender): string {
  return `send-${chain.name}`;
}

function sweepTask({ sender }: Sweeper): string {
  return `sweep-${sender.chain.name}`;
}

function createSweeper(sender: Sender, wallet: Wallet): Sweeper[] {
  const settings = sender.chain.sweeping;
  return settings ? [{ sender, settings, wallet: wallet.fingerprint, next_at_ms: 0 }] : [];
}

function createSender(
  { chain, rpcs }: Watcher,
  { treasury, leaving }: { treasury: string | null; leaving: Leaving },
  open: OpenSigner,
): Sender[] {
  if (chain.sending === null || treasury === null) return [];
  const remembered = { is_verified: false, next_at_ms: 0, failures: 0 };
  const settings = chain.sending;
  return [{ chain, settings, treasury, rpcs, leaving, openSigner: open, ...remembered }];
}

/** One signer for all chains; after a failure it is opened again. */
function openOnce(openSigner: OpenSigner) {
  let opened: Promise<Signer> | null = null;
  return {
    open: () => {
      opened ??= openSigner().catch((error: unknown) => {
        opened = null;
        throw error;
      });
      return opened;
    },
    close: async () => {
      const signer = await opened?.catch(() => null);
      await signer?.close();
    },
  };
}

/**
 * The first time, reading starts where the file says, or at the block that is final now: no address
 * was issued before it. So there must be a cursor before the first address.
 */
async function ensureCursor(
  { database, clock }: OpenDeps,
  watcher: Watcher,
  wallet: Wallet,
): Promise<void> {
  const { chain, rpcs } = watcher;
  const known = await findWatchedChain(database, chain.name);
  if (known && Number(known.chain_id) !== chain.chain_id) {
    throw new StartupError(
      `SLIPROAD_CHAINS_FILE: ${chain.name} has the chain_id ${chain.chain_id}, but this database ` +
        `was used with ${known.chain_id}; restore the file, or use another database.`,
    );
  }
  try {
    await verifyNodes(chain, rpcs);
    watcher.is_verified = true;
    await checkUnused(database, watcher, wallet);
    if (known) return;
    const block = await readFirstCursor(watcher);
    const { hash: scanned_hash, mined_at: scanned_at } = block;
    const row = { chain: chain.name, chain_id: BigInt(chain.chain_id), scanned_hash, scanned_at };
    const scanned_block = BigInt(block.number);
    await insertWatchedChain(database, { ...row, scanned_block }, realTime(clock));
  } catch (error) {
    // A chain that was read before waits for its node, and /readyz says so.
    if (known && error instanceof ChainUnavailable) return;
    const kinds = [Misconfigured, ChainUnavailable, Disagreement];
    if (error instanceof Error && kinds.some((kind) => error instanceof kind)) {
      throw new StartupError(`SLIPROAD_CHAINS_FILE: ${error.message}.`);
    }
    throw error;
  }
}

/** The block before the first one that is read; it must be final, or its hash could change. */
async function readFirstCursor({ chain, rpcs }: Watcher): Promise<Block> {
  const { name, first_block } = chain;
  const final = await readFinalOf(rpcs, chain);
  if (first_block !== null && first_block > final + 1) {
    throw new Misconfigured(
      `chains.${name}.first_block is ${first_block}, but block ${final} is the last final one`,
    );
  }
  const number = first_block === null ? final : Math.max(0, first_block - 1);
  return readSameBlock(rpcs, number);
}

/** Logs each change of the state once, not each run. */
async function watchAndReport(deps: OpenDeps, watcher: Watcher, log: TaskLog): Promise<void> {
  const name = watcher.chain.name;
  const before = await findWatchedChain(deps.database, name);
  const state = await watchChain(deps, watcher);
  if (state === null || state === before?.state) return;
  const { problem } = (await findWatchedChain(deps.database, name))!;
  if (problem) log.error({ chain: name, state, problem }, "the chain is not read");
  else if (before?.problem) log.info({ chain: name, state }, "the chain is read again");
}
