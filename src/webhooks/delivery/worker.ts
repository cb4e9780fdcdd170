import { createWorker, type Worker, type WorkerOptions } from "../../platform/tasks/worker.ts";
import { DELIVERY_SETS_MAX, deliverTask } from "./deliver-task.ts";
import type { DeliverDeps } from "./sender-model.ts";

/**
 * Deliveries have their own worker: a hundred hanging endpoints would otherwise use up the slots of
 * payouts.
 */
export function createDeliveryWorker(deps: Omit<DeliverDeps, "random" | "isStopping">): Worker {
  let is_stopping = false;
  const { database, clock, log } = deps;
  const handler = deliverTask({ ...deps, random: Math.random, isStopping: () => is_stopping });
  const worker = createWorker({
    database,
    clock,
    log,
    handlers: [handler],
    sets_max: DELIVERY_SETS_MAX,
  });
  return {
    ...worker,
    stop: () => {
      is_stopping = true;
      return worker.stop();
    },
  };
}

/** Combines the general worker and the delivery worker into one. */
export function withDeliveries(deliveries: Worker, options: WorkerOptions): Worker {
  const worker = createWorker(options);
  const wake = () => {
    worker.wake();
    deliveries.wake();
  };
  return {
    ...worker,
    start: () => {
      worker.start();
      deliveries.start();
    },
    stop: async () => {
      await Promise.all([worker.stop(), deliveries.stop()]);
    },
    wake,
    // The general worker wakes the delivery worker once events have become deliveries.
    runUntilIdle: worker.runUntilIdle,
  };
}
