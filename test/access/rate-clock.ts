import { afterEach, beforeEach, vi } from "vitest";

/**
 * Stops the clock that the limits of sign-in count on, in another minute for every test: no test
 * meets the attempts of another, and none is cut in two by the end of a minute.
 */
export function useRateClock(): { addMinute(): void } {
  let minutes = 0;
  beforeEach(() => {
    minutes += 1;
    vi.spyOn(performance, "now").mockImplementation(() => minutes * 60_000);
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
