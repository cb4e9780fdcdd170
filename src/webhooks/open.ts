import type { GuardedSender } from "../partners/outbound-http/guarded-sender.ts";
import type { Module, ModuleCore } from "../platform/module.ts";
import { signingKey } from "../platform/sealing/seal.ts";
import { signingSeed } from "../platform/sealing/signing-seed.ts";
import type { Worker } from "../platform/tasks/worker.ts";
import { addAppPages } from "./app-page-routes.ts";
import { addAppRoutes } from "./app-routes.ts";
import { createAttemptCounter } from "./attempt-counter.ts";
import { createDeliveryWorker } from "./delivery/worker.ts";
import { addEventRoutes } from "./event-routes.ts";
import { fanOutTask } from "./fan-out.ts";
import { webhookMetrics } from "./metrics.ts";
import { TRIM_EVENTS_TASK } from "./model.ts";
import { replayTask } from "./replay-task.ts";
import { trimEventsTask } from "./trim-events.ts";

/** Deliveries have their own worker. */
type WebhooksModule = Module & { deliveries: Worker };

export function openWebhooksModule(
  core: ModuleCore,
  { sender }: { sender: GuardedSender },
): WebhooksModule {
  const { config, mode, database } = core;
  const { counter, countAttempt } = createAttemptCounter();
  const deliveries = createDeliveryWorker({ ...core, sender, countAttempt });
  const wakeDeliveries = deliveries.wake;
  const signing_key = signingKey(signingSeed(config));
  const deps = { ...core, app_rules: { mode, refuseUrl: sender.refuse } };
  return {
    deliveries,
    routes: (addRoute) => {
      addAppRoutes(addRoute, deps);
      addEventRoutes(addRoute, deps);
    },
    pages: (server) => addAppPages(server, deps),
    tasks: [
      fanOutTask({ ...core, signing_key, wakeDeliveries }),
      replayTask({ database, wakeDeliveries }),
      trimEventsTask({ ...config, database }),
    ],
    recurring: [TRIM_EVENTS_TASK],
    metrics: [webhookMetrics],
    counters: [counter],
  };
}
