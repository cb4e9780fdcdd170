import type { Clock } from "../clock.ts";

/**
 * Real time for leases and steps. All processes must agree on it, so it is the database's time:
 * this machine's, corrected by the difference that the clock measured. A measurement that is
 * somewhat wrong moves the end of a lease, nothing more: what protects a task from two workers is
 * the comparison of its `lease_id`, never the time.
 */
export function realTime(clock: Clock): Date {
  return new Date(Date.now() + Math.round(clock.difference_ms()));
}
