import { ageSeconds, type MetricSource } from "../platform/metrics/model.ts";
import { listReconciliations } from "./reconcile-store.ts";

/** The last results of `sliproad reconcile --chain`. */
export function reconcileMetrics(): MetricSource {
  return {
    gauges: [
      {
        name: "sliproad_chain_difference",
        help: "1 where the wallets on a chain and the ledger differed when last compared, else 0.",
        label: "chain",
      },
      {
        name: "sliproad_chain_reconciled_age_seconds",
        help: "How long ago the wallets on a chain were compared with the ledger.",
        label: "chain",
      },
    ],
    read: async (session, { real_now }) => {
      const rows = await listReconciliations(session);
      const by_chain = Map.groupBy(rows, ({ chain }) => chain);
      return [...by_chain].flatMap(([label, of_chain]) => {
        const is_different = of_chain.some(({ unexplained }) => unexplained !== 0n);
        const oldest = of_chain.toSorted((a, b) => a.at.getTime() - b.at.getTime())[0]!;
        return [
          { name: "sliproad_chain_difference", label, value: is_different ? 1 : 0 },
          {
            name: "sliproad_chain_reconciled_age_seconds",
            label,
            value: ageSeconds(oldest.at, real_now),
          },
        ];
      });
    },
  };
}
