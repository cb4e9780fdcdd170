import { MINUTE_MS } from "../durations.ts";

/** A task that was lost more often, since its worker stopped, may be what ends the process. */
export const LOSSES_MAX = 2;

const BACKOFF = { first_ms: 1_000, max_ms: 5 * MINUTE_MS };

/** How long a task waits after failing this often. */
export function backoffMs(attempts: number): number {
  return Math.min(BACKOFF.first_ms * 2 ** (attempts - 1), BACKOFF.max_ms);
}
