import type { Database } from "../platform/db/database.ts";
import { MINUTE_MS } from "../platform/durations.ts";
import { recurringTask } from "../platform/tasks/recurring-task.ts";
import type { TaskHandler } from "../platform/tasks/run-set.ts";
import type { TaskLog } from "../platform/tasks/task-log.ts";
import { type ExposureDeps, readExposures, stoppedBy } from "./exposure.ts";
import { listBehindBlocks, updateCheckpoint, updateCheckpoints } from "./exposure-store.ts";
import type { PriceBook } from "./price-book.ts";
import { recordPriceVersion } from "./refresh-rates.ts";
import { findLastPriceVersion, lockPriceVersions } from "./store.ts";

export const REFRESH_RATES_TASK = "refresh-rates";
export const CHECK_EXPOSURE_TASK = "check-exposure";

const EXPOSURE_EVERY_MS = MINUTE_MS;

/** Reads the rates again; a failing source is retried after increasing delays. */
export function refreshRatesTask(database: Database, prices: PriceBook): TaskHandler {
  return recurringTask(database, REFRESH_RATES_TASK, prices.refresh_every_ms, ({ now }) =>
    prices.refresh(now),
  );
}

/** Compares the exposure with its maximums every minute, and records prices when that changes. */
export function checkExposureTask(
  deps: ExposureDeps & { database: Database; log: TaskLog },
): TaskHandler {
  const { database, log } = deps;
  return recurringTask(database, CHECK_EXPOSURE_TASK, EXPOSURE_EVERY_MS, async ({ now }) => {
    await database.transaction(async (tx) => {
      await lockPriceVersions(tx);
      const [exposures, last] = await Promise.all([
        readExposures(tx, deps),
        findLastPriceVersion(tx),
      ]);
      const stopped = stoppedBy(exposures);
      if (last) recordPriceVersion(tx, last, { ...last, stopped }, now);
      for (const direction of ["offramps", "onramps"] as const) {
        const before = last?.stopped[direction] ?? [];
        const currencies = stopped[direction].filter((code) => !before.includes(code));
        if (currencies.length === 0) continue;
        log.warn(
          { direction, currencies, next: "sliproad exposure list" },
          "the exposure is above its maximum: these currencies are not quoted",
        );
      }
      if (!tx.by_account) updateCheckpoints(tx);
    });
    for (const account_id of database.by_account ? await listBehindBlocks(database) : []) {
      await database.transaction((tx) => updateCheckpoint(tx, account_id));
    }
  });
}
