import { Refusal } from "../platform/errors.ts";
import { createRateLimiter } from "../platform/http/rate-limit.ts";
import { LruMap } from "../platform/lru-map.ts";

const WRONG_MAX = 10;
const WINDOW_MS = 60_000;
const ADDRESSES_MAX = 100_000;

/** Who tries tokens that are nobody's is kept waiting, also with one that would be right. */
export type TokenAttempts = {
  /** Refuses an address that has tried too many. */
  assertAllowed(address: string): void;
  wrong(address: string): void;
};

/** Counted per address in this process, on real time. Right tokens cost nothing. */
export function createTokenAttempts(): TokenAttempts {
  const limiter = createRateLimiter(WRONG_MAX, WINDOW_MS);
  const blocked = new LruMap<string, number>(ADDRESSES_MAX);
  return {
    assertAllowed: (address) => {
      const left_ms = (blocked.get(address) ?? 0) - performance.now();
      if (left_ms <= 0) return;
      const seconds = Math.ceil(left_ms / 1000);
      const message = `Too many wrong links. Wait ${seconds} seconds, then try again.`;
      throw new Refusal("too_many_requests", message, seconds);
    },
    wrong: (address) => {
      const limit = limiter?.take(address);
      if (!limit || limit.remaining > 0) return;
      blocked.set(address, performance.now() + limit.reset_seconds * 1000);
    },
  };
}
