import { COUNTED, type MetricSource } from "../../../platform/metrics/model.ts";
import { countOpenItems } from "./open-item-store.ts";
import { listSetAside } from "./read-inbox.ts";

/** What of the banks' reports waits for a person. */
export function bankMetrics(inbox: string): MetricSource {
  return {
    gauges: [
      {
        name: "sliproad_bank_items_open",
        help: `Lines, rejections and corrections of banks that match nothing; ${COUNTED}.`,
      },
      {
        name: "sliproad_bank_files_set_aside",
        help: "Files of banks that could not be read.",
      },
    ],
    read: async (session) => {
      const { lines, statuses, corrections, returns } = await countOpenItems(session);
      return [
        { name: "sliproad_bank_items_open", value: lines + statuses + corrections + returns },
        { name: "sliproad_bank_files_set_aside", value: listSetAside(inbox).length },
      ];
    },
  };
}
