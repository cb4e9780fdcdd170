import { ageSeconds, COUNTED, type MetricSource } from "../platform/metrics/model.ts";
import { findUnmatched } from "./deposits/store.ts";

/** Received deposits that wait for the operator. */
export function depositMetrics(operator_id: string): MetricSource {
  return {
    gauges: [
      {
        name: "sliproad_deposits_unmatched",
        help: `Deposits that wait for the operator's decision; ${COUNTED}.`,
      },
      {
        name: "sliproad_deposit_oldest_unmatched_seconds",
        help: "Age of the oldest deposit that waits for the operator's decision.",
      },
    ],
    read: async (session, { now }) => {
      const { deposits, oldest_at } = await findUnmatched(session, operator_id);
      return [
        { name: "sliproad_deposits_unmatched", value: deposits },
        {
          name: "sliproad_deposit_oldest_unmatched_seconds",
          value: ageSeconds(oldest_at, now),
        },
      ];
    },
  };
}
