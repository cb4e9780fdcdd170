import { afterEach, beforeEach, vi } from "vitest";
import { attemptTime } from "../../src/platform/attempts/attempts.ts";

/**
 * Stops the clock of the sign-in limits, in a different minute for every test, so that tests do not
 * share attempts and no test spans two minutes.
 */
export function useRateClock(): { addMinute(): void } {
  const started_ms = Math.floor(Date.now() / 60_000) * 60_000;
  let minutes = 0;
  beforeEach(() => {
    minutes += 1;
    vi.spyOn(performance, "now").mockImplementation(() => minutes * 60_000);
    vi.spyOn(attemptTime, "now").mockImplementation(() => new Date(started_ms + minutes * 60_000));
  });
  afterEach(() => {
    vi.restoreAllMocks();
  });
  return {
    addMinute: () => {
      minutes += 1;
    },
  };
}
