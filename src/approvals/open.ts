import type { Module, ModuleCore } from "../platform/module.ts";
import type { RecordPages } from "./page.ts";
import { addProposalPages, addProposalRoutes } from "./routes.ts";

/** The module that proposes provides the page of the proposal's record. */
export function openApprovalsModule(
  core: ModuleCore,
  later: { record_pages: RecordPages },
): Module {
  return {
    routes: (addRoute) => addProposalRoutes(addRoute, core),
    pages: (server) => addProposalPages(server, { ...core, ...later }),
  };
}
