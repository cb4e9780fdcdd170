import type { ApprovalRules } from "../approvals/with-approval.ts";
import type { Catalogue } from "../catalogue/catalogue.ts";
import type { LimitDeps } from "../limits/load-limits.ts";
import type { ChainPort } from "../partners/chain/port.ts";
import type { Module, ModuleCore } from "../platform/module.ts";
import type { TravelDeps } from "../travel/record-travel.ts";
import type { ScreenUsers } from "../users/clearance.ts";
import { refundProposalTask } from "./approved-refunds.ts";
import type { RefundDeps } from "./refund-balances.ts";
import { sendRefundTask } from "./refund-task.ts";
import { addBalanceRoutes } from "./routes.ts";

export function openBalancesModule(
  core: ModuleCore,
  needs: {
    catalogue: Catalogue;
    chain: ChainPort;
    approvals: ApprovalRules;
    limits: LimitDeps;
    screenUsers: ScreenUsers;
    travel: TravelDeps;
    assertReserved: RefundDeps["assertReserved"];
  },
): Module {
  const { network_fees } = needs.catalogue;
  const { kyc_enforcement } = core.config;
  const is_screening = core.config.screening_lists.length > 0;
  const deps = { ...core, ...needs, network_fees, kyc_enforcement, is_screening };
  return {
    routes: (addRoute) => addBalanceRoutes(addRoute, deps),
    tasks: [sendRefundTask(deps), refundProposalTask(deps)],
  };
}
