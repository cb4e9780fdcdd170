import type { Clock, SandboxClock } from "../../src/platform/clock.ts";

export type SimulatedClock = Clock &
  SandboxClock & {
    /** Real time passes, too: leases end. */
    pass(ms: number): void;
    set(time_ms: number): void;
  };

/** One clock for all processes; business time and real time are the same. */
export function createSimulatedClock(first_ms: number): SimulatedClock {
  let now_ms = first_ms;
  const pass = (ms: number) => {
    now_ms += ms;
  };
  return {
    now: () => new Date(now_ms),
    difference_ms: () => now_ms - Date.now(),
    refresh: async () => {},
    advance: async (ms) => {
      pass(ms);
      return new Date(now_ms);
    },
    pass,
    set: (time_ms) => {
      now_ms = time_ms;
    },
  };
}
