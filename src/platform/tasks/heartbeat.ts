import { randomUUID } from "node:crypto";
import type { Clock } from "../clock.ts";
import type { Database } from "../db/database.ts";
import { HOUR_MS } from "../durations.ts";
import type { Outage } from "./outage.ts";
import { realTime } from "./real-time.ts";
import { deleteHeartbeat, upsertHeartbeat } from "./store.ts";

const FORGET_SILENT_MS = HOUR_MS;

/**
 * Shows that a worker is alive, on a separate timer that does not depend on its handlers, and when
 * it last ended work or had none. Returns a function that stops it and deletes the row.
 */
export function startHeartbeat(
  { database, clock, outage }: { database: Database; clock: Clock; outage: Outage },
  progressedAt: () => Date,
  heartbeat_ms: number,
): () => Promise<void> {
  const worker_id = randomUUID();
  let last: Promise<void>;
  const send = () => {
    const real_now = realTime(clock);
    const forget_before = new Date(real_now.getTime() - FORGET_SILENT_MS);
    const beat = { real_now, progressed_at: progressedAt(), forget_before };
    last = upsertHeartbeat(database, worker_id, beat).catch(outage.failed);
  };
  send();
  const timer = setInterval(send, heartbeat_ms);
  return async () => {
    clearInterval(timer);
    await last;
    await deleteHeartbeat(database, worker_id).catch(outage.failed);
  };
}
