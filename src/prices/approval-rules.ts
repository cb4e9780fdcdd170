import type { ApprovalRules } from "../approvals/with-approval.ts";
import { HOUR_MS } from "../platform/durations.ts";
import type { ModuleCore } from "../platform/module.ts";
import type { PriceVersions } from "./price-book.ts";
import { usdValue } from "./usd-value.ts";

/** What needs two-person approval, by its value at the stored rates. */
export function approvalRules(
  core: Pick<ModuleCore, "config" | "keyring" | "index_key" | "clock" | "public_url">,
  prices: PriceVersions,
): ApprovalRules {
  const { config, keyring, index_key, clock, public_url } = core;
  return {
    limit_usd: config.approval_above_usd,
    usdValue: (session) => usdValue(prices, session),
    keyring,
    index_key,
    now: () => clock.now(),
    public_url,
    cooling_off_ms: (config.cooling_off_hours ?? 0) * HOUR_MS,
  };
}
