import type { Database, Transaction } from "../../platform/db/database.ts";
import { HOUR_MS } from "../../platform/durations.ts";
import { oneByOne } from "../../platform/tasks/one-by-one.ts";
import type { TaskSet } from "../../platform/tasks/task-set.ts";
import { enqueueTasks, type Task } from "../../platform/tasks/tasks.ts";
import { lockKycs } from "../../users/kyc-store.ts";
import { giveUp, lockForGiveUp, recordGiveUps, withPayouts } from "../give-up.ts";
import type { Offramp } from "../model.ts";
import { keptUntil, loadStoppedTimes } from "../rate-promise.ts";
import { recordChanges } from "../record-changes.ts";
import { findOfframpLinks } from "../store.ts";
import { ASSESS_OFFRAMP_TASK } from "../task-kinds.ts";
import { loadJudge, lockForGates, type OfframpAssessDeps } from "./assess-offramps.ts";

const ASKED_AGAIN_AFTER_MS = HOUR_MS;
const NOT_REROUTED =
  "The returned payout was not re-routed in time. Its money was credited to the user's balance.";

type Outcome = "done" | Date;

/**
 * Fails offramps whose rate is no longer kept: held by a gate for too long, opened when the rate
 * had moved, or bounced and not re-routed in time (`rate-promise.ts`).
 */
export async function failLapsedOfframps(
  deps: OfframpAssessDeps & { database: Database },
  set: TaskSet,
): Promise<void> {
  await oneByOne(deps.database, set, (task) =>
    deps.database.transaction(async (tx) => {
      const tasks = await set.lock(tx, [task]);
      if (tasks.length === 0) return;
      const outcome = await failIfLapsed(tx, deps, task, set.now);
      if (outcome === "done") set.finish(tx, tasks);
      else set.postpone(tx, tasks, outcome);
    }),
  );
}

async function failIfLapsed(
  tx: Transaction,
  deps: OfframpAssessDeps,
  { account_id, record_id: id }: Task,
  now: Date,
): Promise<Outcome> {
  const key = { account_id, id };
  const [seen] = await findOfframpLinks(tx, [key]);
  if (!seen) return "done";
  // Users are locked before quotes, and quotes before offramps.
  await lockKycs(tx, [{ account_id, user_id: seen.user_id }]);
  const locked = await lockForGiveUp(tx, deps.prices, [key], now);
  const entries = await lockForGates(tx, deps, [key]);
  const [entry] = entries.offramps;
  if (!entry) return "done";
  const judge = await loadJudge(tx, deps, entries, now);
  const status_message = lapseOf(entry.offramp, judge, now);
  if (status_message instanceof Date) return status_message;
  if (status_message === null) {
    // A gate opened, or the rate came back, since the assessment that ended with this task.
    if (entry.offramp.status === "ongoing_checks")
      enqueueTasks(tx, ASSESS_OFFRAMP_TASK, [key], now);
    return "done";
  }
  const again_at = new Date(now.getTime() + ASKED_AGAIN_AFTER_MS);
  const until = keptUntil(deps, entry.offramp, await loadStoppedTimes(tx, [key]), now);
  const is_over = until !== null && now >= entry.offramp.rate_until!;
  if (is_over && now < until) return until < again_at ? until : again_at;
  const given_up = giveUp(await withPayouts(tx, locked, [key]), entry, status_message, now);
  // There is no rate for what came back: it waits for the operator.
  if ("problems" in given_up) return again_at;
  recordChanges(tx, deps.renderer, [given_up.value.change], now);
  recordGiveUps(tx, [given_up.value], now);
  return "done";
}

/** Why it fails now; when to look again; null when it does not wait any more. */
function lapseOf(
  offramp: Offramp,
  judge: Awaited<ReturnType<typeof loadJudge>>,
  now: Date,
): string | Date | null {
  if (offramp.status === "ongoing_checks" && offramp.funded_at) {
    const judged = judge(offramp);
    return judged.decision === "fail" ? judged.status_message : null;
  }
  if (offramp.status !== "bounced") return null;
  const until = offramp.rate_until;
  return until && now < until ? until : NOT_REROUTED;
}
