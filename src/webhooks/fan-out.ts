import type { KeyObject } from "node:crypto";
import { DELIVER_TASK, type Endpoint, missingSetup } from "../apps/model.ts";
import { listConsents, listEndpointsFor } from "../apps/store.ts";
import { FAN_OUT_TASK } from "../events/model.ts";
import {
  findEventCursor,
  findNextBlock,
  insertEventPositions,
  type OrderedEvent,
  updateEventCursor,
} from "../events/order-store.ts";
import { EVENT_LOG } from "../events/record-events.ts";
import type { Database, Transaction } from "../platform/db/database.ts";
import { newId } from "../platform/ids.ts";
import type { ModuleCore } from "../platform/module.ts";
import { type Rejected, sealChain } from "../platform/sealing/seal.ts";
import { logHeads, logRejected } from "../platform/sealing/tasks.ts";
import type { TaskHandler } from "../platform/tasks/run-set.ts";
import { wakeTasks } from "../platform/tasks/tasks.ts";
import { isNotified } from "./audience.ts";
import { insertDeliveries, type NewDelivery } from "./delivery/store.ts";

type FanOutDeps = Pick<ModuleCore, "database" | "clock" | "log"> & {
  signing_key: KeyObject;
  /** Wakes the delivery worker. */
  wakeDeliveries: () => void;
};

/** Afterwards, the rest of an account's events waits behind those of others. */
const TURN_MS = 250;
/**
 * Handed over at once, in about a hundred milliseconds: a block of events can have fifty times as
 * many.
 */
const DELIVERIES_MAX = 1_000;
/** In one turn: there may be any number of events to seal. */
const SEALED_BLOCKS_MAX = 5;

/** Gives new events their position, and creates a delivery for each application to notify. */
export function fanOutTask(deps: FanOutDeps, turn_ms = TURN_MS): TaskHandler {
  const { database } = deps;
  return {
    kind: FAN_OUT_TASK,
    set_max: 200,
    sets_at_once: 1,
    handle: async (set) => {
      const waiting = new Set<string>();
      for (const account_id of new Set(set.tasks.map((task) => task.account_id))) {
        // Not the time of the set: a sender does not look long for what is due since earlier.
        const end = await fanOut(deps, account_id, deps.clock.now(), turn_ms);
        if (end === "more") waiting.add(account_id);
      }
      await database.transaction(async (tx) => {
        const { more = [], done = [] } = Object.groupBy(await set.lock(tx), (task) =>
          waiting.has(task.account_id) ? "more" : "done",
        );
        set.finish(tx, done);
        set.repeat(tx, more, set.now);
      });
    },
  };
}

/**
 * An event's position is its position in the sealed log: one sealer at a time takes what is
 * committed, so a transaction that commits late gets a later position. A turn hands over events
 * until its time is over, at least once; the next turn continues at the cursor.
 */
async function fanOut(
  deps: FanOutDeps,
  account_id: string,
  now: Date,
  turn_ms: number,
): Promise<"more" | "done"> {
  const ends_ms = performance.now() + turn_ms;
  const { database, signing_key, log } = deps;
  const chain = { account_id, log: EVENT_LOG.log };
  const onRejected = (rejected: Rejected) => logRejected(log, rejected);
  // What is sealed already comes first: on a busy machine a turn would otherwise seal a block for
  // each one that it hands over, and an account that is behind would stay behind.
  if (await handOverBlocks(deps, account_id, ends_ms, now)) return "more";
  const heads = await sealChain(database, signing_key, chain, now, onRejected, SEALED_BLOCKS_MAX);
  logHeads(log, heads);
  // Also where nothing was left to seal: another sealer may just have sealed it.
  if (await handOverBlocks(deps, account_id, ends_ms, now)) return "more";
  return heads.length === SEALED_BLOCKS_MAX ? "more" : "done";
}

/** Whether the time was over first. */
async function handOverBlocks(
  deps: FanOutDeps,
  account_id: string,
  ends_ms: number,
  now: Date,
): Promise<boolean> {
  while (await handOverNext(deps, account_id, now)) {
    if (performance.now() >= ends_ms) return true;
  }
  return false;
}

/** The next events of the block at the cursor; false if there is none. */
async function handOverNext(
  { database, wakeDeliveries }: FanOutDeps,
  account_id: string,
  now: Date,
): Promise<boolean> {
  const cursor = await findEventCursor(database, account_id);
  const block = await findNextBlock(database, account_id, cursor.block_number);
  if (!block) return false;
  const endpoints = await listEndpointsFor(database, account_id);
  const ready = endpoints.filter((endpoint) => missingSetup(endpoint) === null);
  const count_max = Math.max(1, Math.floor(DELIVERIES_MAX / Math.max(1, ready.length)));
  const events = inRecordOrder(block.events).slice(0, count_max);
  const deliveries = await chooseDeliveries(database, account_id, events, ready, now);
  // Another account's rows are written in their own transaction; if the one below does not
  // commit, they are found on the next run and not written twice.
  const foreign = deliveries.filter((delivery) => delivery.account_id !== account_id);
  for (const [, theirs] of Map.groupBy(foreign, (delivery) => delivery.account_id)) {
    await database.transaction(async (tx) => handOver(tx, theirs, now));
  }
  const is_rest = events.length === block.events.length;
  const next = {
    block_number: is_rest ? block.number : cursor.block_number,
    position: cursor.position + BigInt(events.length),
  };
  await database.transaction(async (tx) => {
    if (!(await updateEventCursor(tx, account_id, cursor, next))) return;
    insertEventPositions(tx, account_id, cursor.position, events);
    handOver(
      tx,
      deliveries.filter((delivery) => delivery.account_id === account_id),
      now,
    );
  });
  if (deliveries.length > 0) wakeDeliveries();
  return true;
}

async function chooseDeliveries(
  database: Database,
  account_id: string,
  events: readonly OrderedEvent[],
  ready: readonly Endpoint[],
  now: Date,
): Promise<NewDelivery[]> {
  const sides = events.flatMap((event) => event.counterpart_account_id ?? []);
  const consents = await listConsents(database, [...new Set([account_id, ...sides])], ready);
  return events.flatMap((event) =>
    ready
      .filter((endpoint) => isNotified(endpoint, event, consents))
      .map((endpoint) => newDelivery(endpoint, event, now)),
  );
}

export function newDelivery(endpoint: Endpoint, event: OrderedEvent, now: Date): NewDelivery {
  const is_disabled = endpoint.webhook_state === "disabled";
  return {
    account_id: endpoint.account_id,
    id: newId(now),
    app_id: endpoint.id,
    event_account_id: event.account_id,
    event_id: event.id,
    name: event.name,
    record_id: event.record_id,
    sequence: event.sequence,
    status: is_disabled ? "skipped" : "pending",
    reason: is_disabled ? "The endpoint was disabled." : null,
    body: null,
  };
}

/** Writes the deliveries of one account and wakes their senders. */
export function handOver(tx: Transaction, deliveries: readonly NewDelivery[], now: Date): void {
  const pending = deliveries.filter((delivery) => delivery.status === "pending");
  const apps = new Map(
    pending.map(({ account_id, app_id }) => [app_id, { account_id, id: app_id }]),
  );
  wakeTasks(tx, DELIVER_TASK, [...apps.values()], now);
  insertDeliveries(tx, deliveries, now);
}

/** By id, that is by time, but never a record's later event before its earlier one. */
function inRecordOrder(events: readonly OrderedEvent[]): OrderedEvent[] {
  const of_record = Map.groupBy(events, (event) => event.record_id);
  for (const own of of_record.values()) own.sort((a, b) => a.sequence - b.sequence);
  return events.map((event) => of_record.get(event.record_id)!.shift()!);
}
