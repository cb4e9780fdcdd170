import { DAY_MS, HOUR_MS, MINUTE_MS, SECOND_MS } from "../../platform/durations.ts";

/** The wait after the first failure, the second, and so on; then the delivery has failed. */
export const RETRY_DELAYS_MS = [
  5 * SECOND_MS,
  5 * MINUTE_MS,
  30 * MINUTE_MS,
  2 * HOUR_MS,
  5 * HOUR_MS,
  10 * HOUR_MS,
  14 * HOUR_MS,
  20 * HOUR_MS,
  24 * HOUR_MS,
] as const;
/** Only added, so that no attempt is earlier than documented. */
export const JITTER_MAX = 0.1;
/** The limit for a receiver's Retry-After. */
export const RETRY_AFTER_MAX_MS = 24 * HOUR_MS;
/** An endpoint that only failed for this long is disabled. */
export const DISABLE_AFTER_MS = 5 * DAY_MS;

/** After this many failures in a row, the circuit opens. */
export const CIRCUIT_FAILURES = 5;
const CIRCUIT_FIRST_MS = 30 * SECOND_MS;
const CIRCUIT_MAX_MS = 30 * MINUTE_MS;

/**
 * When to try again after `failures` in a row; null when the schedule has ended. `random` is from 0
 * to 1. The receiver's Retry-After can only lengthen the wait.
 */
export function nextAttemptAt(
  failures: number,
  now: Date,
  random: number,
  retry_after_ms = 0,
): Date | null {
  const delay_ms = RETRY_DELAYS_MS[failures - 1];
  if (delay_ms === undefined) return null;
  const planned_ms = Math.round(delay_ms * (1 + JITTER_MAX * random));
  return new Date(now.getTime() + Math.max(planned_ms, capped(retry_after_ms)));
}

/** How long the circuit stays open: longer each time the single test request fails again. */
export function circuitOpenMs(openings: number): number {
  return Math.min(CIRCUIT_FIRST_MS * 2 ** (openings - 1), CIRCUIT_MAX_MS);
}

/** An HTTP date begins with the day; `Date.parse` alone finds a date in almost any text. */
const HTTP_DATE = /^(Mon|Tue|Wed|Thu|Fri|Sat|Sun)/;

/**
 * `Retry-After` of a 429 or 503, in seconds or as a date, at most the limit; 0 when there is none.
 * If the header was sent several times in seconds, the longest.
 */
export function readRetryAfter(status: number, header: string | undefined, real_now: Date): number {
  if ((status !== 429 && status !== 503) || header === undefined) return 0;
  const parts = header.split(",").map((part) => part.trim());
  if (parts.every((part) => /^\d+$/.test(part))) {
    return capped(Math.max(...parts.map(Number)) * SECOND_MS);
  }
  const at_ms = HTTP_DATE.test(header.trim()) ? Date.parse(header) : Number.NaN;
  return Number.isNaN(at_ms) ? 0 : capped(at_ms - real_now.getTime());
}

function capped(asked_ms: number): number {
  return Math.min(Math.max(0, asked_ms), RETRY_AFTER_MAX_MS);
}
