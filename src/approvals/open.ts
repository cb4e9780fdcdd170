import type { Module, ModuleCore } from "../platform/module.ts";
import { accountChange } from "./change-accounts.ts";
import { memberChange } from "./change-members.ts";
import { checkProposalsTask } from "./check-proposals.ts";
import { controlledChangeTask } from "./controlled-change.ts";
import { addFormerPages, addProposalRoutes } from "./routes.ts";
import { lapseProposalTask } from "./tasks.ts";

export function openApprovalsModule(core: ModuleCore): Module {
  return {
    routes: (addRoute) => addProposalRoutes(addRoute, core),
    tasks: [
      lapseProposalTask(core),
      checkProposalsTask(core),
      controlledChangeTask(core, memberChange(core)),
      controlledChangeTask(core, accountChange),
    ],
    pages: addFormerPages,
  };
}
