import { COUNT_MAX, COUNTED, type MetricSource } from "../../../../platform/metrics/model.ts";
import { countSweeps } from "./sweep-store.ts";

/** What is being swept on the real chains. */
export function sweepMetrics(): MetricSource {
  const gauge = (name: string, help: string) => ({ name, help, label: "chain" });
  return {
    gauges: [
      gauge("sliproad_sweeps_open", `Sweeps whose transactions are being sent; ${COUNTED}.`),
      gauge("sliproad_sweeps_waiting", `Sweeps that something prevents for now; ${COUNTED}.`),
      gauge("sliproad_sweeps_failed", `Sweeps that wait for the operator; ${COUNTED}.`),
    ],
    read: async (session) => {
      const rows = await countSweeps(session, COUNT_MAX);
      return rows.flatMap(({ chain: label, open, waiting, failed }) => [
        { name: "sliproad_sweeps_open", label, value: open },
        { name: "sliproad_sweeps_waiting", label, value: waiting },
        { name: "sliproad_sweeps_failed", label, value: failed },
      ]);
    },
  };
}
