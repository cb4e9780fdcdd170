import type { Clock } from "../../../../platform/clock.ts";
import type { Database } from "../../../../platform/db/database.ts";
import { HOUR_MS, MINUTE_MS } from "../../../../platform/durations.ts";
import { realTime } from "../../../../platform/tasks/real-time.ts";
import { ChainUnavailable } from "../../port.ts";
import { Disagreement } from "../check-transfers.ts";
import { RpcRefused, RpcReverted } from "../json-rpc.ts";
import { firstFees } from "../send/fees.ts";
import { readView } from "../send/read-view.ts";
import { fromMillionths } from "../transfer-logs.ts";
import { advanceSweep } from "./advance-sweep.ts";
import { chooseMethod } from "./authorize-sweep.ts";
import { type Sweep, type Sweeper, SweepWaits } from "./model.ts";
import { insertSweep, listOpenSweeps, listUnswept, updateWaiting } from "./sweep-store.ts";

type SweepDeps = { database: Database; clock: Clock };

/**
 * At the same time on a chain: top-ups share the treasury's queue with payments. Those that have to
 * wait, such as those of a paused token, are not counted.
 */
const OPEN_MAX = 4;
const RUN_EVERY_MS = 5_000;
const IDLE_EVERY_MS = 30_000;
/** A token may be paused, or its issuer may have blocked an address. */
const REFUSED_AGAIN_AFTER_MS = HOUR_MS;
const TRIED_AGAIN_AFTER_MS = 10 * MINUTE_MS;

/**
 * Moves credited deposits into the treasury. Each step of a sweep is a send with a key of its own:
 * whatever ends the process, the next run finds what was queued and continues from there.
 */
export async function runSweeps({ database, clock }: SweepDeps, sweeper: Sweeper): Promise<void> {
  if (performance.now() < sweeper.next_at_ms) return;
  const now = realTime(clock);
  sweeper.next_at_ms = performance.now() + RUN_EVERY_MS;
  if (await sweeper.sender.leaving.findHold()) return;
  const { chain } = sweeper.sender;
  try {
    await startSweeps(database, sweeper, now);
    const open = await listOpenSweeps(database, chain.name, OPEN_MAX, now);
    if (open.length === 0) sweeper.next_at_ms = performance.now() + IDLE_EVERY_MS;
    for (const sweep of open) {
      await advanceOrWait({ database, now, sweeper }, sweep);
    }
  } catch (error) {
    // Sender and watcher report nodes that are away or contradict each other.
    if (!(error instanceof ChainUnavailable || error instanceof Disagreement)) throw error;
  }
}

async function advanceOrWait(
  deps: Parameters<typeof advanceSweep>[0],
  sweep: Sweep,
): Promise<void> {
  const { database, now } = deps;
  try {
    await advanceSweep(deps, sweep);
    if (sweep.problem !== null) await updateWaiting(database, sweep.number, null);
  } catch (error) {
    const waits = toWait(error, now);
    if (!waits) throw error;
    const later = { problem: waits.message, retry_at: waits.until };
    await updateWaiting(database, sweep.number, later);
  }
}

/** Why a sweep waits; null where the reason is not the sweep's own. */
function toWait(error: unknown, now: Date): SweepWaits | null {
  const after = (ms: number) => new Date(now.getTime() + ms);
  if (error instanceof SweepWaits) return error;
  if (error instanceof RpcReverted) {
    return new SweepWaits(
      "The token's contract refuses the transfer now; it is tried again in an hour.",
      after(REFUSED_AGAIN_AFTER_MS),
    );
  }
  const is_own = error instanceof RpcRefused || error instanceof Disagreement;
  return is_own ? new SweepWaits(`${error.message}.`, after(TRIED_AGAIN_AFTER_MS)) : null;
}

async function startSweeps(database: Database, sweeper: Sweeper, now: Date): Promise<void> {
  const { sender, wallet, settings } = sweeper;
  const { chain } = sender;
  const open = await listOpenSweeps(database, chain.name, OPEN_MAX, now);
  const wanted = { wallet, tokens: chain.tokens.map(({ name }) => name), ...settings };
  const going = open.filter(({ retry_at }) => retry_at === null);
  const found = await listUnswept(database, chain.name, wanted, OPEN_MAX - going.length);
  if (found.length === 0) return;
  const { market } = await readView(sender, sender.treasury);
  const fees = firstFees(market, sender.settings);
  if (!fees || fees.max_fee > settings.max_fee) return;
  for (const { address, token, amount: millionths, numbers } of found) {
    const { address: contract, decimals } = chain.tokens.find(({ name }) => name === token)!;
    // Of a token with fewer decimals than six, every deposit is a whole number of its units.
    const amount = fromMillionths(millionths, decimals)!;
    const of = { chain: chain.name, address, token, contract, amount, millionths };
    const how = await chooseMethod({ database, now, sweeper }, of);
    await insertSweep(database, { ...of, ...how }, numbers, now);
  }
}
