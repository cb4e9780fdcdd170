import { createWorker, type Worker, type WorkerOptions } from "../../platform/tasks/worker.ts";
import { DELIVERY_SETS_MAX, deliverTask } from "./deliver-task.ts";
import type { DeliverDeps } from "./sender-model.ts";

/**
 * Deliveries have a worker of their own: a hundred endpoints that hang would otherwise take the
 * places of payouts.
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

/** The worker of everything else, and that of deliveries, as one. */
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
    // Whoever waits wakes both: events become deliveries only on the way.
    runUntilIdle: worker.runUntilIdle,
  };
}
