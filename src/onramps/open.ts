import type { ApprovalRules } from "../approvals/with-approval.ts";
import type { Catalogue } from "../catalogue/catalogue.ts";
import type { LimitDeps } from "../limits/load-limits.ts";
import type { BankPort } from "../partners/bank/port.ts";
import type { ChainPort } from "../partners/chain/port.ts";
import type { ScreeningPort } from "../partners/screening/port.ts";
import { HOUR_MS } from "../platform/durations.ts";
import type { Module, ModuleCore } from "../platform/module.ts";
import type { PriceBook } from "../prices/price-book.ts";
import type { TravelDeps } from "../travel/record-travel.ts";
import type { ScreenUsers } from "../users/clearance.ts";
import { addDepositRoutes } from "./deposits/routes.ts";
import { depositMetrics } from "./metrics.ts";
import { addOnrampRoutes } from "./routes.ts";
import { READ_CREDITS_TASK } from "./task-kinds.ts";
import { onrampTasks } from "./tasks.ts";

export function openOnrampsModule(
  core: ModuleCore,
  needs: {
    catalogue: Catalogue;
    chain: ChainPort;
    bank: BankPort;
    prices: PriceBook;
    approvals: ApprovalRules;
    limits: LimitDeps;
    travel: TravelDeps;
    screening: ScreeningPort;
    screenUsers: ScreenUsers;
  },
): Module {
  const { kyc_enforcement, rate_slippage_basis_points, rate_hold_hours } = core.config;
  const rate_rules = { rate_slippage_basis_points, rate_hold_ms: rate_hold_hours * HOUR_MS };
  const is_screening = core.config.screening_lists.length > 0;
  const deps = { ...core, ...needs, kyc_enforcement, is_screening, ...rate_rules };
  return {
    routes: (addRoute) => {
      addOnrampRoutes(addRoute, deps);
      addDepositRoutes(addRoute, deps);
    },
    tasks: onrampTasks(deps),
    recurring: [READ_CREDITS_TASK],
    metrics: [depositMetrics(core.operator_id)],
  };
}
