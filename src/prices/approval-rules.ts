import type { ApprovalRules } from "../approvals/with-approval.ts";
import type { Clock } from "../platform/clock.ts";
import type { Config } from "../platform/config/config.ts";
import { HOUR_MS } from "../platform/durations.ts";
import type { Keyring } from "../platform/encryption/keyring.ts";
import type { PriceVersions } from "./price-book.ts";
import { usdValue } from "./usd-value.ts";

/** What needs two-person approval, by its value at the stored rates. */
export function approvalRules(
  core: { config: Config; keyring: Keyring; clock: Clock; public_url: () => string },
  prices: PriceVersions,
): ApprovalRules {
  const { config, keyring, clock, public_url } = core;
  return {
    limit_usd: config.approval_above_usd,
    usdValue: (session) => usdValue(prices, session),
    keyring,
    now: () => clock.now(),
    public_url,
    cooling_off_ms: (config.cooling_off_hours ?? 0) * HOUR_MS,
  };
}
