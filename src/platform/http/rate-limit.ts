/** Counts requests per caller in windows of one second, in this process. */
export type RateLimiter = {
  take(caller: string): RateLimit;
  /** Whether one more would be allowed, without counting it. */
  look(caller: string): RateLimit;
};

export type RateLimit = {
  allowed: boolean;
  limit: number;
  remaining: number;
  reset_seconds: number;
};

const WINDOW_MS = 1_000;
const CALLERS_MAX = 100_000;

/** `limit` 0 means that nothing is limited. Runs on real time. */
export function createRateLimiter(
  limit: number,
  window_ms: number = WINDOW_MS,
): RateLimiter | null {
  if (limit === 0) return null;
  let window = 0;
  let counts = new Map<string, number>();
  const count = (caller: string, step: 0 | 1): RateLimit => {
    const now_ms = performance.now();
    const current = Math.floor(now_ms / window_ms);
    if (current !== window || counts.size > CALLERS_MAX) {
      window = current;
      counts = new Map();
    }
    const before = counts.get(caller) ?? 0;
    if (step === 1) counts.set(caller, before + 1);
    return {
      allowed: before < limit,
      limit,
      remaining: Math.max(0, limit - before - step),
      reset_seconds: Math.ceil(((current + 1) * window_ms - now_ms) / 1000),
    };
  };
  return { take: (caller) => count(caller, 1), look: (caller) => count(caller, 0) };
}
