import { performance } from "node:perf_hooks";
import type { Clock } from "../clock.ts";
import type { Database } from "../db/database.ts";
import { startHeartbeat } from "./heartbeat.ts";
import { createOutage } from "./outage.ts";
import { createPause } from "./pause.ts";
import { createPump } from "./pump.ts";
import { realTime } from "./real-time.ts";
import type { TaskHandler } from "./run-set.ts";
import { listDueKinds } from "./store.ts";
import type { TaskLog } from "./task-log.ts";
import { waitUntilIdle } from "./wait-until-idle.ts";

export type WorkerOptions = {
  database: Database;
  clock: Clock;
  handlers: readonly TaskHandler[];
  log: TaskLog;
  poll_ms?: number;
  lease_ms?: number;
  heartbeat_ms?: number;
  /** Sets running at a time, of all kinds together. */
  sets_max?: number;
};

export type Worker = {
  start(): void;
  /** Stops claiming, lets running handlers end, and releases tasks claimed meanwhile. */
  stop(): Promise<void>;
  /** Looks for due work at once; the API calls it after a commit in the same process. */
  wake(): void;
  /**
   * True once no task of the installation is due or running, in any process; false if that was not
   * reached within `deadline_ms`. To move the clock and run the work in order, use `advanceClock`.
   */
  runUntilIdle(deadline_ms: number): Promise<boolean>;
};

// How soon workers of other processes follow when the sandbox clock is moved.
const CLOCK_REFRESH_MS = 1_000;
// Every commit wakes the worker; under load one query serves several.
const LOOK_GAP_MS = 5;

/**
 * Claims due tasks and passes them to their handlers as sets. Every kind has its own queues, served
 * round-robin, so that many tasks of one kind do not block the others; within a kind the accounts
 * take turns (`claim-store.ts`).
 */
export function createWorker(options: WorkerOptions): Worker {
  const { database, clock, handlers, log } = options;
  const { poll_ms = 100, lease_ms = 30_000, heartbeat_ms = 5_000, sets_max = 16 } = options;
  const outage = createOutage(log, poll_ms);
  let progressed_at = realTime(clock);
  const pause = createPause();
  const noteProgress = () => {
    progressed_at = realTime(clock);
  };
  // Most sets leave tasks for the next step: it begins at once, not with the next poll.
  const progressed = () => {
    noteProgress();
    pause.wake();
  };
  const deps = { database, clock, log, outage, lease_ms, progressed };
  const pump = createPump(deps, handlers, sets_max);
  const kinds = handlers.map((handler) => handler.kind);
  let state: "new" | "running" | "stopped" = "new";
  let looking: Promise<void>;
  let stopHeartbeat: () => Promise<void>;

  async function look(): Promise<void> {
    let refreshed_ms = performance.now();
    while (state === "running") {
      try {
        if (performance.now() - refreshed_ms >= CLOCK_REFRESH_MS) {
          await clock.refresh();
          refreshed_ms = performance.now();
        }
        const query = { kinds, now: clock.now(), real_now: realTime(clock) };
        const due = await listDueKinds(database, query);
        if (due.every(({ fresh, failed }) => !fresh && !failed)) noteProgress();
        pump.offer(due);
      } catch (error) {
        outage.failed(error);
      }
      const backoff_ms = outage.backoffMs();
      if (backoff_ms > 0) await pause.atLeast(backoff_ms);
      else await pause.between(LOOK_GAP_MS, poll_ms);
    }
  }

  return {
    start: () => {
      if (state !== "new") throw new Error("a worker is started once");
      state = "running";
      stopHeartbeat = startHeartbeat(deps, () => progressed_at, heartbeat_ms);
      looking = look();
    },
    stop: async () => {
      if (state !== "running") return;
      state = "stopped";
      pause.end();
      await Promise.all([looking, pump.close()]);
      await stopHeartbeat();
    },
    wake: pause.wake,
    runUntilIdle: (deadline_ms) =>
      waitUntilIdle({ database, clock, wake: pause.wake }, deadline_ms),
  };
}
