import type { Database } from "../platform/db/database.ts";
import type { TaskHandler } from "../platform/tasks/run-set.ts";
import type { PriceBook } from "./prices.ts";

export const REFRESH_RATES_TASK = "refresh-rates";

/** Reads the rates again; a failing source is retried after increasing delays. */
export function refreshRatesTask(database: Database, prices: PriceBook): TaskHandler {
  return {
    kind: REFRESH_RATES_TASK,
    set_max: 1,
    handle: async (set) => {
      await prices.refresh(set.now);
      await database.transaction(async (tx) => {
        const tasks = await set.lock(tx);
        set.repeat(tx, tasks, new Date(set.now.getTime() + prices.refresh_every_ms));
      });
    },
  };
}
