import type { ApprovalRules } from "../approvals/with-approval.ts";
import type { Config } from "../platform/config/config.ts";
import type { Keyring } from "../platform/encryption/keyring.ts";
import type { PriceVersions } from "./prices.ts";
import { usdValue } from "./usd-value.ts";

/** What needs two-person approval, by its value at the stored rates. */
export function approvalRules(
  { config, keyring }: { config: Config; keyring: Keyring },
  prices: PriceVersions,
): ApprovalRules {
  return {
    limit_usd: config.approval_above_usd,
    usdValue: (session) => usdValue(prices, session),
    keyring,
  };
}
