import { SliproadError } from "./errors.ts";

/** The maximum of a timer; a longer limit counts as none. */
const TIMER_MS_MAX = 2 ** 31 - 1;

/** Ends one attempt: when the caller aborts, or when the service takes too long. */
export type Limit = {
  signal: AbortSignal;
  /** Waits for `work` as long as there is time; the caller's own time in between does not count. */
  within<Result>(work: () => Promise<Result>): Promise<Result>;
  /** Restarts the time, because data has arrived. */
  refill(): void;
  /** Throws the caller's own reason or the timeout, if either applies. */
  check(): void;
  /** Releases the caller's signal. */
  end(): void;
};

export function startLimit(
  { timeout_ms, signal }: { timeout_ms: number; signal: AbortSignal | null },
  idempotency_key: string | null,
): Limit {
  const control = new AbortController();
  const aborted = new Promise<never>((_, reject) => {
    control.signal.addEventListener("abort", () => reject(control.signal.reason), { once: true });
  });
  aborted.catch(() => {});
  const stop = () => control.abort(signal?.reason);
  signal?.addEventListener("abort", stop, { once: true });
  let is_late = false;
  let left_ms = timeout_ms;
  const startTimer = () => {
    if (left_ms > TIMER_MS_MAX) return undefined;
    return setTimeout(() => {
      is_late = true;
      control.abort();
    }, left_ms);
  };
  const check = () => {
    signal?.throwIfAborted();
    if (!is_late) return;
    const message = `No whole answer within ${timeout_ms} ms.`;
    throw new SliproadError("timed_out", message, { idempotency_key });
  };
  return {
    signal: control.signal,
    check,
    within: async (work) => {
      check();
      const begun_ms = performance.now();
      const timer = startTimer();
      try {
        return await Promise.race([work(), aborted]);
      } finally {
        clearTimeout(timer);
        left_ms = Math.max(0, left_ms - (performance.now() - begun_ms));
      }
    },
    refill: () => {
      left_ms = timeout_ms;
    },
    end: () => signal?.removeEventListener("abort", stop),
  };
}

/** Refuses an invalid duration before anything is sent. */
export function checkTimeout(timeout_ms: number): number {
  if (typeof timeout_ms === "number" && timeout_ms > 0) return timeout_ms;
  throw new RangeError(`timeout_ms must be above 0, or Infinity, not ${String(timeout_ms)}.`);
}

export function checkRetries(retries_max: number): number {
  if (typeof retries_max === "number" && retries_max >= 0) return retries_max;
  throw new RangeError(`retries_max must be 0 or more, not ${String(retries_max)}.`);
}
