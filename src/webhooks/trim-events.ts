import { listAccounts } from "../accounts/store.ts";
import { deleteTrimmedPositions, updateBodiesTrimmed } from "../events/order-store.ts";
import type { Database } from "../platform/db/database.ts";
import { DAY_MS, HOUR_MS } from "../platform/durations.ts";
import { FIRST_ID, firstIdAt } from "../platform/ids.ts";
import { recurringTask } from "../platform/tasks/recurring-task.ts";
import type { TaskHandler } from "../platform/tasks/run-set.ts";
import { TRIM_EVENTS_TASK } from "./model.ts";
import { deleteOldDeliveries } from "./redelivery-store.ts";

type Retention = {
  database: Database;
  /** With `archive`, `sliproad archive` moves them into files. */
  retention: "delete" | "archive";
  /** 0 keeps them forever. */
  event_retention_days: number;
  delivery_retention_days: number;
};

const EVERY_MS = HOUR_MS;
const CHUNK = 1_000;
const DAYS_MIN = 7;

/** Deletes what is past its retention: bodies and positions of events, deliveries. */
export function trimEventsTask(retention: Retention): TaskHandler {
  return recurringTask(retention.database, TRIM_EVENTS_TASK, EVERY_MS, ({ now }) =>
    trimEvents(retention, now),
  );
}

/**
 * Uses small statements, to hold locks briefly. The events themselves are kept: they are sealed.
 */
export async function trimEvents(retention: Retention, now: Date): Promise<void> {
  const { database, event_retention_days, delivery_retention_days } = retention;
  const is_deleting = retention.retention === "delete";
  for (const { id } of await listAccounts(database)) {
    if (event_retention_days > 0) {
      const below_id = oldestKeptId(event_retention_days, now);
      while (is_deleting && (await updateBodiesTrimmed(database, id, below_id, CHUNK)));
      let last_id: string | null = FIRST_ID;
      while (last_id) last_id = await deleteTrimmedPositions(database, id, last_id, CHUNK);
    }
    if (delivery_retention_days > 0 && is_deleting) {
      const below_id = oldestKeptId(delivery_retention_days, now);
      while (await deleteOldDeliveries(database, id, below_id, CHUNK));
    }
  }
}

/** What has a smaller id is past its retention. What is still being retried must be kept. */
export function oldestKeptId(days: number, now: Date): string {
  return firstIdAt(new Date(now.getTime() - Math.max(days, DAYS_MIN) * DAY_MS));
}
