import type { Module, ModuleCore } from "../platform/module.ts";
import { accountChange } from "./change-accounts.ts";
import { memberChange } from "./change-members.ts";
import { checkProposalsTask } from "./check-proposals.ts";
import { controlledChangeTask } from "./controlled-change.ts";
import type { RecordPages } from "./page.ts";
import { addProposalPages, addProposalRoutes } from "./routes.ts";
import { lapseProposalTask } from "./tasks.ts";

/** The module that proposes provides the page of the proposal's record. */
export function openApprovalsModule(
  core: ModuleCore,
  later: { record_pages: RecordPages },
): Module {
  return {
    routes: (addRoute) => addProposalRoutes(addRoute, core),
    tasks: [
      lapseProposalTask(core),
      checkProposalsTask(core),
      controlledChangeTask(core, memberChange(core)),
      controlledChangeTask(core, accountChange),
    ],
    pages: (server) => addProposalPages(server, { ...core, ...later }),
  };
}
