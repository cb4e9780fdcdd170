import type { Clock } from "../../../platform/clock.ts";
import type { Database } from "../../../platform/db/database.ts";
import type { Module } from "../../../platform/module.ts";
import { StartupError } from "../../../platform/startup-error.ts";
import { realTime } from "../../../platform/tasks/real-time.ts";
import { recurringTask } from "../../../platform/tasks/recurring-task.ts";
import type { TaskLog } from "../../../platform/tasks/task-log.ts";
import { type ChainPort, ChainUnavailable } from "../port.ts";
import { createEvmChain } from "./evm-chain.ts";
import { evmMetrics, readinessOf } from "./health.ts";
import type { EvmSettings, Watcher } from "./model.ts";
import { openRpc } from "./rpc.ts";
import { Misconfigured, verifyNodes } from "./verify-nodes.ts";
import { openWallet } from "./wallet.ts";
import { createWatcher, readFinal, watchChain } from "./watch-chain.ts";
import { findWatchedChain, insertWatchedChain } from "./watch-store.ts";

type OpenDeps = { database: Database; clock: Clock };

const WATCHED_EVERY_MS = 1_000;

type Evm = { chain: ChainPort; watchers: readonly Watcher[]; openModule(log: TaskLog): Module };

/** Opens the chains of the operator's file: the port, and the module that watches them. */
export async function openEvm(deps: OpenDeps, settings: EvmSettings): Promise<Evm> {
  const wallet = openWallet(settings.xpub);
  const watchers = settings.chains.map((chain) =>
    createWatcher(
      chain,
      chain.rpc_urls.map((url) => openRpc(url, chain.timeout_seconds * 1000)),
    ),
  );
  for (const watcher of watchers) await ensureCursor(deps, watcher);
  const names = watchers.map(({ chain }) => chain.name);
  return {
    chain: createEvmChain({ ...deps, wallet, watchers }),
    watchers,
    openModule: (log) => ({
      // One task each: a node that does not answer delays no other chain.
      tasks: watchers.map((watcher) =>
        recurringTask(deps.database, taskOf(watcher), WATCHED_EVERY_MS, () =>
          watchAndReport(deps, watcher, log),
        ),
      ),
      recurring: watchers.map(taskOf),
      metrics: [evmMetrics(names)],
      readiness: readinessOf(settings.chains),
    }),
  };
}

function taskOf({ chain }: Watcher): string {
  return `watch-${chain.name}`;
}

/**
 * The first time, reading starts where the file says, or at the block that is final now: no address
 * was issued before it. So there must be a cursor before the first address.
 */
async function ensureCursor({ database, clock }: OpenDeps, watcher: Watcher): Promise<void> {
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
    if (known) return;
    const number = chain.first_block ?? (await readFinal(rpcs[0]!, chain));
    const block = await rpcs[0]!.block(number);
    if (!block)
      throw new Misconfigured(`${chain.name} does not have the first_block ${number} yet`);
    const { hash: scanned_hash, mined_at: scanned_at } = block;
    const row = { chain: chain.name, chain_id: BigInt(chain.chain_id), scanned_hash, scanned_at };
    await insertWatchedChain(database, { ...row, scanned_block: BigInt(number) }, realTime(clock));
  } catch (error) {
    // A chain that was read before waits for its node, and /readyz says so.
    if (known && error instanceof ChainUnavailable) return;
    if (error instanceof Misconfigured || error instanceof ChainUnavailable) {
      throw new StartupError(`SLIPROAD_CHAINS_FILE: ${error.message}.`);
    }
    throw error;
  }
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
