import { DAY_MS } from "../platform/durations.ts";
import { ageSeconds, COUNTED, type MetricSource } from "../platform/metrics/model.ts";
import {
  findFailedCount,
  findOldestDueDelivery,
  findPendingDeliveryCount,
} from "./metrics-store.ts";

export const webhookMetrics: MetricSource = {
  gauges: [
    {
      name: "sliproad_webhook_deliveries",
      help: `Deliveries: pending, or permanently failed in the last 24 hours; ${COUNTED}.`,
      label: "status",
    },
    {
      name: "sliproad_webhook_oldest_due_seconds",
      help: "How long the oldest due delivery has been waiting to be sent.",
    },
  ],
  read: async (session, { now }) => {
    const name = "sliproad_webhook_deliveries";
    const [pending, failed, due_at] = await Promise.all([
      findPendingDeliveryCount(session),
      findFailedCount(session, new Date(now.getTime() - DAY_MS)),
      findOldestDueDelivery(session, now),
    ]);
    return [
      { name, label: "pending", value: pending },
      { name, label: "failed", value: failed },
      { name: "sliproad_webhook_oldest_due_seconds", value: ageSeconds(due_at, now) },
    ];
  },
};
