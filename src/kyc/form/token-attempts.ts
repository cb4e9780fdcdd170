import { type AttemptDeps, createAttempts } from "../../platform/attempts/attempts.ts";
import { MINUTE_MS } from "../../platform/durations.ts";
import { Refusal } from "../../platform/errors.ts";

const WRONG_MAX = 10;
const WINDOW_MS = MINUTE_MS;

/** Who tries tokens that are nobody's is kept waiting, also with one that would be right. */
export type TokenAttempts = {
  /** Refuses an address that has tried too many. */
  assertAllowed(address: string): Promise<void>;
  wrong(address: string): Promise<void>;
};

/** Counted per address for all processes, on real time. Right tokens are not counted. */
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
