import type { Clock } from "../../../../platform/clock.ts";
import type { Database } from "../../../../platform/db/database.ts";
import { MINUTE_MS } from "../../../../platform/durations.ts";
import { StartupError } from "../../../../platform/startup-error.ts";
import { realTime } from "../../../../platform/tasks/real-time.ts";
import type { TaskLog } from "../../../../platform/tasks/task-log.ts";
import type { AskOwner } from "../../port.ts";
import { Disagreement } from "../check-transfers.ts";
import { RpcFailure } from "../json-rpc.ts";
import { type Signer, SignerUnavailable } from "../signer/port.ts";
import { Misconfigured, verifyNodes } from "../verify-nodes.ts";
import { findWatchedChain } from "../watch-store.ts";
import { isPast } from "./broadcast.ts";
import { type Sender, type SenderRow, type SenderState, SendingStopped } from "./model.ts";
import { runQueue } from "./run-queue.ts";
import {
  listActiveSenders,
  type SenderOutcome,
  updateSenderState,
  upsertTreasury,
} from "./sender-store.ts";

type SendDeps = { database: Database; clock: Clock; askOwner: AskOwner };

/** Balance and nonce are looked at so often where there is nothing to send. */
const IDLE_CHECKED_EVERY_MS = MINUTE_MS;
const BACKOFF_MAX_MS = MINUTE_MS;
/** States of a queue whose nodes or signer may be overloaded. */
const TROUBLED: readonly SenderState[] = ["unreachable", "disagreeing", "misconfigured"];

/** Sends what is queued on a chain, from every address that has something to send. */
export async function runSender(deps: SendDeps, sender: Sender, log: TaskLog): Promise<void> {
  const { database } = deps;
  const began_ms = performance.now();
  if (began_ms < sender.next_at_ms) return;
  const now = realTime(deps.clock);
  await upsertTreasury(database, { chain: sender.chain.name, address: sender.treasury }, now);
  const rows = await listActiveSenders(database, sender.chain.name, sender.treasury);
  const states: SenderState[] = [];
  for (const row of rows) {
    if (!row.has_sends && !isCheckDue(row, now)) continue;
    const outcome = await runOne(deps, sender, row, now).catch(toOutcome);
    await updateSenderState(database, row, outcome, now);
    report(log, row, outcome);
    reportGas(log, sender, row, outcome);
    states.push(outcome.state);
  }
  // One queue's own trouble, for example of an address that is stopped, delays no other.
  const is_well = states.length === 0 || states.some((state) => !TROUBLED.includes(state));
  sender.failures = is_well ? 0 : sender.failures + 1;
  const pause_ms = is_well
    ? sender.chain.poll_seconds * 1000
    : Math.min(1000 * 2 ** (sender.failures - 1), BACKOFF_MAX_MS);
  sender.next_at_ms = began_ms + pause_ms;
}

function isCheckDue({ checked_at }: SenderRow, now: Date): boolean {
  return !checked_at || isPast(checked_at, IDLE_CHECKED_EVERY_MS, now);
}

async function runOne(
  { database, askOwner }: SendDeps,
  sender: Sender,
  row: SenderRow,
  now: Date,
): Promise<SenderOutcome> {
  if (!sender.is_verified) await verifyNodes(sender.chain, sender.rpcs);
  sender.is_verified = true;
  const watched = await findWatchedChain(database, sender.chain.name);
  if (watched?.state === "reorganised") {
    throw new Disagreement(`${sender.chain.name} is not read: a final block was replaced`);
  }
  return runQueue({ database, now, askOwner }, sender, row, () => openChecked(sender));
}

async function openChecked({ openSigner, treasury }: Sender): Promise<Signer> {
  const signer = await openSigner();
  if (signer.treasury === treasury) return signer;
  throw new Misconfigured(
    `the signer's treasury is ${signer.treasury}, but the chains file says ${treasury}`,
  );
}

function toOutcome(error: unknown): SenderOutcome {
  const states: [abstract new (message: string) => Error, SenderState][] = [
    [RpcFailure, "unreachable"],
    [SignerUnavailable, "unreachable"],
    [Disagreement, "disagreeing"],
    [Misconfigured, "misconfigured"],
    [StartupError, "misconfigured"],
    [SendingStopped, "stopped"],
  ];
  const found = states.find(([kind]) => error instanceof kind);
  // Anything else, such as a lost database, is the task's failure.
  if (!found) throw error;
  return { state: found[1], problem: (error as Error).message, seen: null };
}

/** Logs once that the treasury's native coin has fallen below the floor. */
function reportGas(log: TaskLog, sender: Sender, before: SenderRow, { seen }: SenderOutcome): void {
  const { gas_floor } = sender.settings;
  if (before.address !== sender.treasury || !seen || seen.balance >= gas_floor) return;
  if (before.balance !== null && before.balance < gas_floor) return;
  const wei = { balance_wei: String(seen.balance), gas_floor_wei: String(gas_floor) };
  const about = { chain: before.chain, address: before.address, ...wei };
  log.warn(about, "the treasury has little native coin for gas");
}

/** Logs each change of the state once, not each run. */
function report(log: TaskLog, before: SenderRow, { state, problem }: SenderOutcome): void {
  if (before.state === state || before.state === "stopped") return;
  const about = { chain: before.chain, address: before.address, state };
  if (problem) log.error({ ...about, problem }, "transactions are not sent");
  else log.info(about, "transactions are sent again");
}
