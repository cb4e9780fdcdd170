import type { Clock } from "../clock.ts";

/**
 * Real time for leases and steps. All processes must agree on it, so it is the database's time:
 * this machine's, corrected by the difference that the clock measured. A slightly wrong measurement
 * only moves the end of a lease: the comparison of `lease_id`, never the time, protects a task from
 * two workers.
 */
export function realTime(clock: Clock): Date {
  return new Date(Date.now() + Math.round(clock.difference_ms()));
}
