import { recordAudit } from "../../accounts/audit.ts";
import { type Endpoint, missingSetup } from "../../apps/model.ts";
import { listEndpoints, updateDisabled, updateHealth } from "../../apps/store.ts";
import type { Transaction } from "../../platform/db/database.ts";
import type { TaskSet } from "../../platform/tasks/task-set.ts";
import type { Task } from "../../platform/tasks/tasks.ts";
import { coalesce } from "./coalesce.ts";
import { type DeliveryOutcome, updateOutcomes } from "./outcome-store.ts";
import { planByKey, planByRecord } from "./planner-store.ts";
import type { DeliverDeps, Recorder, Turn, Written } from "./sender-model.ts";
import { SKIPPED_AT_ONCE, updatePendingSkipped } from "./skip-store.ts";
import { listNextDue } from "./store.ts";

/** Sending continues meanwhile; a crash in between would repeat only these few deliveries. */
const WRITE_PACE_MS = 50;

export function createRecorder(deps: DeliverDeps, set: TaskSet): Recorder {
  const lost = new Set<Task>();
  return {
    write: coalesce((turns) => recordOutcomes(deps, set, turns, lost), WRITE_PACE_MS),
    end: coalesce((turns) => endTurns(deps, set, turns)),
    isLost: (task) => lost.has(task),
  };
}

/** One transaction for all, and only for endpoints whose lease is still ours. */
async function recordOutcomes(
  deps: DeliverDeps,
  set: TaskSet,
  turns: readonly Turn[],
  lost: Set<Task>,
): Promise<Written[]> {
  const taken = new Map(turns.map((turn) => [turn, turn.outcomes]));
  for (const turn of turns) turn.outcomes = [];
  const changed = new Map(turns.map((turn) => [turn, turn.health]));
  const followed = await deps.database.transaction(async (tx) => {
    const [locked] = await Promise.all([
      set.lock(
        tx,
        turns.map((turn) => turn.task),
      ),
      planByKey(tx),
    ]);
    const ours = new Set(locked);
    for (const { task } of turns) if (!ours.has(task)) lost.add(task);
    const own = turns.filter((turn) => ours.has(turn.task));
    updateHealth(
      tx,
      own.flatMap((turn) => changed.get(turn) ?? []),
    );
    const outcomes = own.flatMap((turn) => taken.get(turn)!);
    const followed = await updateOutcomes(tx, outcomes);
    for (const turn of own) if (turn.disable_reason !== null) await disable(deps, tx, turn);
    return followed;
  });
  for (const [turn, health] of changed) {
    if (!health || turn.health !== health || !turn.endpoint) continue;
    turn.endpoint = { ...turn.endpoint, ...health };
    turn.health = null;
  }
  for (const turn of turns.filter(({ task }) => !lost.has(task))) {
    for (const outcome of taken.get(turn)!) countAttempt(deps, outcome);
  }
  return turns.map((turn) => ({ outcomes: taken.get(turn)!, followed }));
}

function countAttempt({ countAttempt }: DeliverDeps, outcome: DeliveryOutcome): void {
  const { attempt, status, next_attempt_at } = outcome;
  if (attempt === null) return;
  const is_over = next_attempt_at === null;
  countAttempt?.(status === "delivered" ? "delivered" : is_over ? "failed" : "retried");
}

/**
 * Disables the endpoint once. Pending deliveries become skipped when the turn ends; the audit log
 * and the application show the owner why.
 */
async function disable({ clock, log }: DeliverDeps, tx: Transaction, turn: Turn): Promise<void> {
  const { endpoint, disable_reason } = turn;
  if (!endpoint || disable_reason === null) return;
  const { account_id, id } = endpoint;
  const now = clock.now();
  // Requests may still be open, and the owner may have paused or resumed it or changed its URL in
  // the meantime: then pending deliveries stay pending.
  if (!(await updateDisabled(tx, endpoint, disable_reason, now))) return;
  recordAudit(
    tx,
    {
      account_id,
      actor: "worker",
      action: "app.disable_webhooks",
      record: `app:${id}`,
      reason: disable_reason,
    },
    now,
  );
  log.warn({ account_id, app_id: id, reason: disable_reason }, "a webhook endpoint was disabled");
}

function endTurns(
  { database, clock }: DeliverDeps,
  set: TaskSet,
  turns: readonly Turn[],
): Promise<boolean[]> {
  return database.transaction(async (tx) => {
    // Under the lock: a writer of deliveries wakes the task first, so it either waits for this
    // commit or has already committed what is read here.
    const ours = new Set(
      await set.lock(
        tx,
        turns.map((turn) => turn.task),
      ),
    );
    const apps = turns.map(({ task }) => ({ account_id: task.account_id, id: task.record_id }));
    const now = clock.now();
    const [, due, found] = await Promise.all([
      planByRecord(tx),
      listNextDue(tx, apps, now),
      listEndpoints(tx, apps),
    ]);
    const endpoints = new Map(found.map((endpoint) => [endpoint.id, endpoint]));
    const finished: Task[] = [];
    const postponed = new Map<Task, Date>();
    const unfinished = await skipPending(tx, ours, endpoints, now);
    const endTurn = (turn: Turn) => {
      const { task } = turn;
      if (!ours.has(task)) return true;
      const next = due.get(task.record_id);
      turn.all_wait = next ? next.all_wait : false;
      const endpoint = endpoints.get(task.record_id);
      if (!next || !endpoint || isIdle(endpoint)) {
        if (unfinished.has(task)) postponed.set(task, now);
        else finished.push(task);
        return true;
      }
      // One resumed after this turn decided to disable it starts again.
      const at = latest(next.due_at, endpoint.circuit_until, now);
      if (at <= now && turn.phase === "drained") return false;
      postponed.set(task, at);
      return true;
    };
    const ended = turns.map(endTurn);
    set.finish(tx, finished);
    set.repeat(tx, [...postponed.keys()], (task) => postponed.get(task)!);
    return ended;
  });
}

/** Never in the past: one endpoint's backlog does not mean that the worker is behind. */
function latest(due_at: Date, circuit_until: Date | null, now: Date): Date {
  return new Date(Math.max(due_at.getTime(), circuit_until?.getTime() ?? 0, now.getTime()));
}

/** Paused, disabled or not set up: a change of that wakes the task. */
function isIdle(endpoint: Endpoint): boolean {
  return endpoint.webhook_state !== "active" || missingSetup(endpoint) !== null;
}

/**
 * Skips what is pending for the endpoints that were disabled or deleted; returns the tasks of those
 * that have more.
 */
async function skipPending(
  tx: Transaction,
  tasks: Iterable<Task>,
  endpoints: ReadonlyMap<string, Endpoint>,
  now: Date,
): Promise<ReadonlySet<Task>> {
  const unfinished = new Set<Task>();
  let skipped = 0;
  for (const task of tasks) {
    const { account_id, record_id: id } = task;
    const state = endpoints.get(id)?.webhook_state ?? "deleted";
    const reason = SKIPPED_BECAUSE[state];
    if (!reason) continue;
    const is_full = skipped >= SKIPPED_AT_ONCE;
    const count = is_full ? 0 : await updatePendingSkipped(tx, { account_id, id }, reason, now);
    skipped += count;
    if (is_full || count === SKIPPED_AT_ONCE) unfinished.add(task);
  }
  return unfinished;
}

const SKIPPED_BECAUSE: Readonly<Record<string, string | undefined>> = {
  disabled: "The endpoint was disabled.",
  deleted: "The application was deleted.",
};
