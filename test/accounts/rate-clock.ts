import { afterEach, beforeEach, vi } from "vitest";
import { attemptTime } from "../../src/platform/attempts/attempts.ts";

/**
 * Stops the clock that the limits of sign-in count on, in another minute for every test: no test
 * meets the attempts of another, and none is cut in two by the end of a minute.
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
