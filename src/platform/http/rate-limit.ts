import { LruMap } from "../lru-map.ts";

/**
 * Counts requests per caller in windows, in this process. Attempts to guess secrets are counted
 * across all processes instead (platform/attempts).
 */
export type RateLimiter = {
  take(caller: string): RateLimit;
};

export type RateLimit = {
  allowed: boolean;
  limit: number;
  remaining: number;
  reset_seconds: number;
};

const WINDOW_MS = 1_000;
/** With more callers in one window, the least recently active ones are dropped. */
const CALLERS_MAX = 100_000;

/** `limit` 0 disables the limit. Runs on real time. */
export function createRateLimiter(
  limit: number,
  window_ms: number = WINDOW_MS,
): RateLimiter | null {
  if (limit === 0) return null;
  let window = 0;
  let counts = new LruMap<string, number>(CALLERS_MAX);
  return {
    take: (caller) => {
      const now_ms = performance.now();
      const current = Math.floor(now_ms / window_ms);
      if (current !== window) {
        window = current;
        counts = new LruMap(CALLERS_MAX);
      }
      const before = counts.get(caller) ?? 0;
      // Nothing is counted above the limit: further requests cost no more.
      if (before < limit) counts.set(caller, before + 1);
      return {
        allowed: before < limit,
        limit,
        remaining: Math.max(0, limit - before - 1),
        reset_seconds: Math.ceil(((current + 1) * window_ms - now_ms) / 1000),
      };
    },
  };
}
