import type { Database } from "../platform/db/database.ts";
import { recurringTask } from "../platform/tasks/recurring-task.ts";
import type { TaskHandler } from "../platform/tasks/run-set.ts";
import type { PriceBook } from "./prices.ts";

export const REFRESH_RATES_TASK = "refresh-rates";

/** Reads the rates again; a failing source is retried after increasing delays. */
export function refreshRatesTask(database: Database, prices: PriceBook): TaskHandler {
  return recurringTask(database, REFRESH_RATES_TASK, prices.refresh_every_ms, ({ now }) =>
    prices.refresh(now),
  );
}
