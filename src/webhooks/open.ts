import type { GuardedSender } from "../partners/outbound-http/guarded-sender.ts";
import type { Module, ModuleCore } from "../platform/module.ts";
import { signingKey } from "../platform/sealing/seal.ts";
import { signingSeed } from "../platform/sealing/signing-seed.ts";
import type { Worker } from "../platform/tasks/worker.ts";
import { createAttemptCounter } from "./attempt-counter.ts";
import { createDeliveryWorker } from "./delivery/worker.ts";
import { addEventRoutes } from "./event-routes.ts";
import { fanOutTask } from "./fan-out.ts";
import { webhookMetrics } from "./metrics.ts";
import { TRIM_EVENTS_TASK } from "./model.ts";
import { addReplayRoutes } from "./replay-routes.ts";
import { replayTask } from "./replay-task.ts";
import { trimEventsTask } from "./trim-events.ts";

/** Deliveries have their own worker. */
type WebhooksModule = Module & { deliveries: Worker };

export function openWebhooksModule(
  core: ModuleCore,
  { sender }: { sender: GuardedSender },
): WebhooksModule {
  const { config, database } = core;
  const { counter, countAttempt } = createAttemptCounter();
  const deliveries = createDeliveryWorker({ ...core, sender, countAttempt });
  const wakeDeliveries = deliveries.wake;
  const signing_key = signingKey(signingSeed(config));
  return {
    deliveries,
    routes: (addRoute) => {
      addReplayRoutes(addRoute, core);
      addEventRoutes(addRoute, core);
    },
    tasks: [
      fanOutTask({ ...core, signing_key, wakeDeliveries }),
      replayTask({ ...core, wakeDeliveries }),
      trimEventsTask({ ...config, database }),
    ],
    recurring: [TRIM_EVENTS_TASK],
    metrics: [webhookMetrics],
    counters: [counter],
  };
}
