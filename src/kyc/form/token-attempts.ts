import { type AttemptDeps, createAttempts } from "../../platform/attempts/attempts.ts";
import { MINUTE_MS } from "../../platform/durations.ts";
import { Refusal } from "../../platform/errors.ts";

const WRONG_MAX = 10;
const WINDOW_MS = MINUTE_MS;

/** Callers who try unknown tokens must wait, even with a valid one. */
export type TokenAttempts = {
  /** Refuses an IP address with too many attempts. */
  assertAllowed(address: string): Promise<void>;
  wrong(address: string): Promise<void>;
};

/** Counted per IP address for all processes, in real time. Valid tokens are not counted. */
export function createTokenAttempts(deps: AttemptDeps): TokenAttempts {
  const attempts = createAttempts(deps, {
    purpose: "kyc links",
    limit: WRONG_MAX,
    window_ms: WINDOW_MS,
  });
  return {
    assertAllowed: async (address) => {
      const { remaining, reset_seconds } = await attempts.look(address);
      if (remaining > 0) return;
      const message = `Too many invalid links. Wait ${reset_seconds} seconds, then try again.`;
      throw new Refusal("too_many_requests", message, reset_seconds);
    },
    wrong: async (address) => {
      await attempts.take(address);
    },
  };
}
