import type { Clock } from "../../../platform/clock.ts";
import type { Database } from "../../../platform/db/database.ts";
import { HOUR_MS } from "../../../platform/durations.ts";
import { realTime } from "../../../platform/tasks/real-time.ts";
import { Disagreement } from "./check-transfers.ts";
import { RpcFailure } from "./json-rpc.ts";
import type { EvmChain, Nodes, Proofs, Watcher } from "./model.ts";
import { proveAgain } from "./prove-again.ts";
import { readBlocks, readKnownBlock } from "./read-blocks.ts";
import type { Rpc } from "./rpc.ts";
import { Misconfigured, verifyNodes } from "./verify-nodes.ts";
import {
  findWatchedChain,
  insertReread,
  insertScan,
  updateReread,
  updateWatchState,
  type WatchedChain,
  type WatchState,
} from "./watch-store.ts";

type WatchDeps = { database: Database; clock: Clock };

const RANGE_FIRST = 500;
/** Of one run; the next one, a second later, reads on. */
const RANGES_PER_RUN = 40;
const RUN_MAX_MS = 20_000;
const BACKOFF_MAX_MS = 60_000;
const READ_AGAIN_AFTER_MS = HOUR_MS;

/** A block that was final and read has another hash now: nodes cannot be believed as configured. */
class Reorganised extends Error {
  override name = "Reorganised";
}

export function createWatcher(nodes: Nodes, proofs: Proofs): Watcher {
  const range = { range_blocks: RANGE_FIRST, ranges_before_growth: 0 };
  const unread = { ...range, is_verified: false, next_at_ms: 0, failures: 0 };
  return { ...nodes, proofs, unproven: { after: 0n, again_at_ms: 0 }, ...unread };
}

/**
 * Reads one chain from its cursor to its last final block and stores the transfers to our
 * addresses. Nothing above the final block is ever stored, so a reorganisation changes nothing.
 *
 * | State         | Meaning                                       | Left when                     |
 * |---------------|-----------------------------------------------|-------------------------------|
 * | current       | read up to the final block                    | a new block is final          |
 * | reading       | behind the final block                        | it has caught up              |
 * | unreachable   | a node did not answer, or refused to          | all nodes answer              |
 * | disagreeing   | two nodes, or a node's answers, contradict    | they agree                    |
 * | reorganised   | a final block that was read has another hash  | it has the old hash again     |
 * | misconfigured | chain id or decimals differ from the file     | they agree                    |
 *
 * In the last four nothing is stored and the cursor stays; each run tries again.
 */
export async function watchChain(deps: WatchDeps, watcher: Watcher): Promise<WatchState | null> {
  const began_ms = performance.now();
  if (began_ms < watcher.next_at_ms) return null;
  const now = realTime(deps.clock);
  const outcome = await runOnce(deps, watcher).catch(toOutcome);
  const is_well = outcome.problem === null;
  watcher.failures = is_well ? 0 : watcher.failures + 1;
  const pause_ms = is_well
    ? watcher.chain.poll_seconds * 1000 * (outcome.state === "current" ? 1 : 0)
    : Math.min(1000 * 2 ** (watcher.failures - 1), BACKOFF_MAX_MS);
  watcher.next_at_ms = began_ms + pause_ms;
  // Of all questions since the last run, those of the sender among them.
  const answer_ms = Math.round(Math.max(...watcher.rpcs.map((rpc) => rpc.takeSlowest())));
  await updateWatchState(deps.database, watcher.chain.name, { ...outcome, answer_ms }, now);
  return outcome.state;
}

type Outcome = { state: WatchState; problem: string | null; final_block: bigint | null };

function toOutcome(error: unknown): Outcome {
  const states: [new (message: string) => Error, WatchState][] = [
    [RpcFailure, "unreachable"],
    [Disagreement, "disagreeing"],
    [Reorganised, "reorganised"],
    [Misconfigured, "misconfigured"],
  ];
  const found = states.find(([kind]) => error instanceof kind);
  // Anything else, such as a lost database, is the task's failure.
  if (!found) throw error;
  return { state: found[1], problem: (error as Error).message, final_block: null };
}

async function runOnce(deps: WatchDeps, watcher: Watcher): Promise<Outcome> {
  const { chain, rpcs } = watcher;
  if (!watcher.is_verified) await verifyNodes(chain, rpcs);
  watcher.is_verified = true;
  const end_ms = performance.now() + RUN_MAX_MS;
  const final_block = await readFinalOf(rpcs, chain);
  const outcome = { problem: null, final_block: BigInt(final_block) };
  for (let range = 0; range < RANGES_PER_RUN && performance.now() < end_ms; range += 1) {
    const row = (await findWatchedChain(deps.database, chain.name))!;
    // Behind a balancer the final block can go backwards; the cursor never does.
    if (final_block < row.scanned_block) return { ...outcome, state: "current" };
    await compareScanned(rpcs, row);
    if (BigInt(final_block) === row.scanned_block) {
      await readAgain(deps, watcher, row);
      await proveAgain(deps, watcher, row.scanned_block);
      return { ...outcome, state: "current" };
    }
    const range = { after: Number(row.scanned_block), until: final_block };
    const read = await readBlocks(deps, watcher, range);
    if (read) await insertScan(deps.database, chain.name, row.scanned_block, read);
  }
  return { ...outcome, state: "reading" };
}

/**
 * Reads every block a second time, an hour or two after the first: a node that was behind, or a
 * balancer, may have left out logs without an error. What is stored already stays as it is.
 */
async function readAgain(deps: WatchDeps, watcher: Watcher, row: WatchedChain): Promise<void> {
  const { database, clock } = deps;
  const now = realTime(clock);
  if (now.getTime() - row.reread_at.getTime() < READ_AGAIN_AFTER_MS) return;
  if (row.reread_from === row.reread_to) return updateReread(database, row, now);
  const range = { after: Number(row.reread_from), until: Number(row.reread_to) };
  const read = await readBlocks(deps, watcher, range);
  if (read) await insertReread(database, row, read);
}

/** The last block that cannot be replaced, as far as all nodes know. */
export async function readFinalOf(rpcs: readonly Rpc[], chain: EvmChain): Promise<number> {
  return Math.min(...(await Promise.all(rpcs.map((rpc) => readFinal(rpc, chain)))));
}

async function readFinal(rpc: Rpc, chain: EvmChain): Promise<number> {
  const { final_tag, confirmations } = chain;
  const [tagged, latest] = await Promise.all([
    final_tag === null ? null : rpc.block(final_tag),
    rpc.block("latest"),
  ]);
  if (!latest || (final_tag !== null && !tagged)) {
    throw new RpcFailure(`${rpc.host} has no ${latest ? final_tag : "latest"} block`);
  }
  const deep = Math.max(0, latest.number - confirmations);
  return tagged ? Math.min(tagged.number, deep) : deep;
}

async function compareScanned(rpcs: readonly Rpc[], row: WatchedChain): Promise<void> {
  for (const rpc of rpcs) {
    const block = await readKnownBlock(rpc, Number(row.scanned_block));
    if (block.hash === row.scanned_hash) continue;
    throw new Reorganised(
      `block ${row.scanned_block} was final with the hash ${row.scanned_hash}, ${rpc.host} now ` +
        `has ${block.hash}: deposits up to it may not exist any more`,
    );
  }
}
