import { DELIVER_TASK, type Endpoint } from "../apps/model.ts";
import { listConsentingAccounts, listConsents, listEndpoints } from "../apps/store.ts";
import { listEventsBetween } from "../events/order-store.ts";
import { firstIdAt } from "../platform/ids.ts";
import type { ModuleCore } from "../platform/module.ts";
import type { TaskHandler } from "../platform/tasks/run-set.ts";
import { SlowWork } from "../platform/tasks/slow-work.ts";
import type { TaskSet } from "../platform/tasks/task-set.ts";
import { lockWakened, type Task, wakeTasks } from "../platform/tasks/tasks.ts";
import { isNotified } from "./audience.ts";
import { insertDeliveries } from "./delivery/store.ts";
import { newDelivery } from "./fan-out.ts";
import { REPLAY_TASK } from "./model.ts";
import { listDeliveredEvents, updateEventsAgain, updateMissedAgain } from "./redelivery-store.ts";
import { findReplay, type Replay, updateReplayDone } from "./store.ts";

type ReplayDeps = Pick<ModuleCore, "database" | "clock"> & { wakeDeliveries: () => void };

const CHUNK = 500;
/** Replays that take long: an account has one at a time. */
const SLOW_LIMITS = { per_account: 1, of_all: 16 };

/** Sends a range of events again, in chunks, because it may be long. */
export function replayTask(deps: ReplayDeps): TaskHandler {
  const slow = new SlowWork(SLOW_LIMITS);
  return {
    kind: REPLAY_TASK,
    set_max: 1,
    handle: async (set) => {
      const [task] = await slow.putOff(deps.database, set);
      if (!task) return;
      const onSlow = () => {
        if (slow.isRoomLeft) set.leavePlace();
      };
      await slow.count(task.account_id, onSlow, () => replayOne(deps, set, task));
    },
  };
}

async function replayOne(
  deps: ReplayDeps,
  set: TaskSet,
  { account_id, record_id }: Task,
): Promise<void> {
  const { database, wakeDeliveries } = deps;
  const replay = await findReplay(database, account_id, record_id);
  const deliveries = replay ? await replayApp(deps, replay) : 0;
  await database.transaction(async (tx) => {
    const tasks = await set.lock(tx);
    if (replay && tasks.length > 0) updateReplayDone(tx, replay, deliveries);
    set.finish(tx, tasks);
  });
  wakeDeliveries();
}

/**
 * Requeues deliveries, and creates missing ones, such as those from before webhooks were enabled.
 * After an interruption it starts over: what it already requeued is left unchanged.
 */
async function replayApp(deps: ReplayDeps, replay: Replay): Promise<number> {
  const { database } = deps;
  const key = { account_id: replay.account_id, id: replay.app_id };
  const [endpoint] = await listEndpoints(database, [key]);
  if (!endpoint) return 0;
  if (replay.only_failed) return replayMissed(deps, endpoint, replay);
  const granting =
    endpoint.flow === "authorization_code"
      ? await listConsentingAccounts(database, endpoint.id)
      : [];
  let count = 0;
  for (const account_id of new Set([endpoint.account_id, ...granting])) {
    count += await replayEventsOf(deps, endpoint, account_id, replay);
  }
  return count;
}

async function replayMissed(
  { database, clock }: ReplayDeps,
  endpoint: Endpoint,
  replay: Replay,
): Promise<number> {
  const below_id = firstIdAt(replay.until);
  let after_id = firstIdAt(replay.since);
  for (let count = 0; ; ) {
    const now = clock.now();
    const ids = await database.transaction(async (tx) => {
      await lockWakened(tx, DELIVER_TASK, [endpoint]);
      wakeTasks(tx, DELIVER_TASK, [endpoint], now);
      return updateMissedAgain(tx, endpoint, { after_id, below_id, limit: CHUNK }, now);
    });
    count += ids.length;
    if (ids.length < CHUNK) return count;
    after_id = ids.at(-1)!;
  }
}

async function replayEventsOf(
  { database, clock }: ReplayDeps,
  endpoint: Endpoint,
  account_id: string,
  replay: Replay,
): Promise<number> {
  const below_id = firstIdAt(replay.until);
  let after_id = firstIdAt(replay.since);
  for (let count = 0; ; ) {
    const now = clock.now();
    const range = { after_id, below_id, limit: CHUNK };
    const events = await listEventsBetween(database, account_id, range);
    const sides = events.flatMap((event) => event.counterpart_account_id ?? []);
    const consents = await listConsents(database, [...new Set([account_id, ...sides])], [endpoint]);
    const event_ids = events.map((event) => event.id);
    count += await database.transaction(async (tx) => {
      await lockWakened(tx, DELIVER_TASK, [endpoint]);
      const known = await listDeliveredEvents(tx, endpoint, event_ids);
      const missing = events
        .filter((event) => !known.has(event.id) && isNotified(endpoint, event, consents))
        .map((event) => newDelivery(endpoint, event, now));
      wakeTasks(tx, DELIVER_TASK, [endpoint], now);
      insertDeliveries(tx, missing, now);
      const again = await updateEventsAgain(tx, endpoint, event_ids, replay.created_at, now);
      return again + missing.length;
    });
    if (events.length < CHUNK) return count;
    after_id = event_ids.at(-1)!;
  }
}
