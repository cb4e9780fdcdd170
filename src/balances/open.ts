import type { ApprovalRules } from "../approvals/with-approval.ts";
import type { ChainPort } from "../partners/chain/port.ts";
import type { Module, ModuleCore } from "../platform/module.ts";
import { refundProposalTask } from "./approved-refunds.ts";
import { sendRefundTask } from "./refund-task.ts";
import { addBalanceRoutes } from "./routes.ts";

export function openBalancesModule(
  core: ModuleCore,
  needs: { chain: ChainPort; approvals: ApprovalRules },
): Module {
  const deps = { ...core, ...needs };
  return {
    routes: (addRoute) => addBalanceRoutes(addRoute, deps),
    tasks: [sendRefundTask(deps), refundProposalTask(deps)],
  };
}
