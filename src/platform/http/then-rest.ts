import { performance } from "node:perf_hooks";
import { setTimeout as pause } from "node:timers/promises";
import { SECOND_MS } from "../durations.ts";

/** How long the thread is left to others after large work, compared to what that took. */
const REST_PART = 2;
const REST_MAX_MS = 2 * SECOND_MS;
const REST_STEP_MS = 20;
/** Below this part of its time, the thread had enough for the others. */
const BUSY_PART = 0.5;

/** Waits for large work, and then until the others had their time of the thread. */
export async function thenRest(answered: Promise<void>): Promise<void> {
  const begun_ms = performance.now();
  await answered;
  const ended_ms = performance.now();
  const until_ms = ended_ms + Math.min((ended_ms - begun_ms) * REST_PART, REST_MAX_MS);
  for (let before = performance.eventLoopUtilization(); performance.now() < until_ms; ) {
    await pause(REST_STEP_MS);
    if (performance.eventLoopUtilization(before).utilization < BUSY_PART) return;
    before = performance.eventLoopUtilization();
  }
}
