import type { Clock } from "../../../platform/clock.ts";
import { realTime } from "../../../platform/tasks/real-time.ts";

/** What two measurements of the same time may differ by. */
const NOISE_MS = 1_000;

/**
 * Converts the time of a block, which is real, into business time: the sandbox's clock may be
 * ahead. Where it was moved after the block was mined, the block is as old as it really is.
 */
export function businessTime(clock: Clock): (real: Date) => Date {
  const ahead_ms = clock.now().getTime() - realTime(clock).getTime();
  const offset_ms = Math.abs(ahead_ms) < NOISE_MS ? 0 : ahead_ms;
  return (real) => new Date(real.getTime() + offset_ms);
}
