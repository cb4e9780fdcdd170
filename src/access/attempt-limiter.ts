import { createRateLimiter, type RateLimit } from "../platform/http/rate-limit.ts";

/** Bounds how many wrong secrets a caller can try in a window, also when it tries them at once. */
export type AttemptLimiter = {
  /** Not allowed: too many have failed. Otherwise the attempt is under way until `end`. */
  begin(caller: string): Promise<RateLimit>;
  end(caller: string, has_failed: boolean): void;
};

type Attempts = { under_way: number; waiting: (() => void)[] };

/**
 * Each attempt counts as failed until it is known not to have: no more are under way than may still
 * fail. Others wait for these to end, so that many good ones at once are all served.
 */
export function createAttemptLimiter(limit: number, window_ms: number): AttemptLimiter {
  const failures = createRateLimiter(limit, window_ms)!;
  const by_caller = new Map<string, Attempts>();
  return {
    begin: async (caller) => {
      for (;;) {
        const left = failures.look(caller);
        if (!left.allowed) return left;
        const attempts = by_caller.get(caller) ?? { under_way: 0, waiting: [] };
        by_caller.set(caller, attempts);
        if (attempts.under_way < left.remaining) {
          attempts.under_way += 1;
          return left;
        }
        await new Promise<void>((resolve) => attempts.waiting.push(resolve));
      }
    },
    end: (caller, has_failed) => {
      if (has_failed) failures.take(caller);
      const attempts = by_caller.get(caller);
      if (!attempts) return;
      attempts.under_way -= 1;
      if (attempts.under_way === 0) by_caller.delete(caller);
      for (const wake of attempts.waiting.splice(0)) wake();
    },
  };
}
